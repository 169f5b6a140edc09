package main

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

func TestOnlyIndexesThatSomethingAsksForStay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.db")
	require.NoError(t, createSchema(file))
	attributes := map[string]enumspb.IndexedValueType{
		"MemTenant": enumspb.INDEXED_VALUE_TYPE_KEYWORD, "MemUser": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"MemItems": enumspb.INDEXED_VALUE_TYPE_INT, "Text": enumspb.INDEXED_VALUE_TYPE_TEXT,
	}
	want := slices.Sorted(slices.Values(append([]string{"by_int_01", "by_keyword_01", "by_keyword_02"}, keptIndexes...)))
	for range 2 { // the second start finds nothing to do
		require.NoError(t, dropUnusedIndexes(file, attributes))
		db, err := sql.Open("sqlite", "file:"+file)
		require.NoError(t, err)
		got, err := indexes(db)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		require.Equal(t, want, slices.Sorted(slices.Values(got)))
	}
}
