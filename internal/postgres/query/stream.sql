-- name: PublishPiece :exec
-- Appends a piece and wakes whoever waits on the channel. Losing it in a crash
-- is no loss, so nobody waits for the disk.
WITH kept AS (
    INSERT INTO lightmem.answer_stream (tenant, user_id, workflow_id, attempt, seq, piece)
    VALUES (@tenant, @user_id, @workflow_id, @attempt, @seq, @piece)
    ON CONFLICT DO NOTHING
)
SELECT set_config('synchronous_commit', 'off', true), pg_notify('lightmem_stream', @wake);

-- name: StreamAfter :many
-- The pieces of the latest attempt after a position.
SELECT s.attempt, s.seq, s.piece FROM lightmem.answer_stream s
WHERE s.tenant = @tenant AND s.user_id = @user_id AND s.workflow_id = @workflow_id
    AND (s.attempt, s.seq) > (@attempt::int, @seq::int)
    AND s.attempt = (SELECT max(l.attempt) FROM lightmem.answer_stream l
        WHERE l.tenant = @tenant AND l.user_id = @user_id AND l.workflow_id = @workflow_id)
ORDER BY s.attempt, s.seq
LIMIT 1000;

-- name: DeleteStream :exec
-- Removes a recorded answer's pieces, and those of the user's answers that were
-- never recorded.
DELETE FROM lightmem.answer_stream WHERE tenant = @tenant AND user_id = @user_id
    AND (workflow_id = @workflow_id OR at < now() - interval '15 minutes');

-- name: DeleteOldStreams :exec
-- Removes the pieces of the user's answers that were never recorded.
DELETE FROM lightmem.answer_stream WHERE tenant = @tenant AND user_id = @user_id AND at < now() - interval '15 minutes';
