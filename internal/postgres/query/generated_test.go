package query_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "note that the generated code is that of the present SQL (go generate does)")

// TestGeneratedCodeIsUpToDate compares the SQL and what was generated from it
// with the sum that go generate noted: compiling sqlc for each check would take
// minutes. Whatever differs, `go generate ./internal/postgres` makes it right.
func TestGeneratedCodeIsUpToDate(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"../sqlc.yaml", "../../../schema/migrations/*.sql", "*.sql", "*.sql.go", "db.go", "models.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		files = append(files, found...)
	}
	slices.Sort(files)
	h := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		fmt.Fprintf(h, "%s %d\n%s", filepath.ToSlash(file), len(content), content)
	}
	sum := hex.EncodeToString(h.Sum(nil)) + "\n"
	if *update {
		require.NoError(t, os.WriteFile("generated.sha256", []byte(sum), 0o644))
		return
	}
	noted, err := os.ReadFile("generated.sha256")
	require.NoError(t, err)
	require.Equal(t, string(noted), sum, "run: go generate ./internal/postgres")
}
