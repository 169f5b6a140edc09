-- name: EnterScope :exec
-- Names the tenant and user of the transaction for row-level security. It
-- comes first in every transaction.
SELECT set_config('lightmem.tenant', @tenant::text, true), set_config('lightmem.user', @user_id::text, true);
