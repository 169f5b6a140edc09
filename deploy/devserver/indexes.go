package main

import (
	"database/sql"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
)

// keptIndexes are those of the built-in columns that lists are asked for here:
// by time, workflow, status, and the server's own division of namespaces.
var keptIndexes = []string{"default_idx", "by_execution_time", "by_workflow_id", "by_workflow_type", "by_status", "by_temporal_namespace_division"}

// indexPrefixes are the names of the indexes of custom search attributes,
// which the schema allots by type and number: Keyword01, Keyword02 ….
var indexPrefixes = map[enumspb.IndexedValueType]string{
	enumspb.INDEXED_VALUE_TYPE_BOOL:     "by_bool",
	enumspb.INDEXED_VALUE_TYPE_DATETIME: "by_datetime",
	enumspb.INDEXED_VALUE_TYPE_DOUBLE:   "by_double",
	enumspb.INDEXED_VALUE_TYPE_INT:      "by_int",
	enumspb.INDEXED_VALUE_TYPE_KEYWORD:  "by_keyword",
}

// dropUnusedIndexes leaves of the visibility table's sixty indexes those that
// something can ask for: the schema has one for each column and each search
// attribute that anybody might register. A turn writes its visibility row three
// times, over the one connection that everything else waits for, too; with all
// indexes that took a third of the server's time (docs/performance.md). What is
// asked for without an index is still found, by a scan.
func dropUnusedIndexes(file string, attributes map[string]enumspb.IndexedValueType) (err error) {
	kept := map[string]bool{}
	for _, name := range keptIndexes {
		kept[name] = true
	}
	count := map[enumspb.IndexedValueType]int{}
	for _, kind := range attributes {
		count[kind]++
		kept[fmt.Sprintf("%s_%02d", indexPrefixes[kind], count[kind])] = true
	}
	db, err := sql.Open("sqlite", "file:"+file) // the driver of Temporal's own plugin
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	names, err := indexes(db)
	if err != nil {
		return err
	}
	for _, name := range names {
		if kept[name] {
			continue
		}
		if _, err := db.Exec("DROP INDEX " + name); err != nil { // a name from the schema, a plain word
			return fmt.Errorf("drop index %s: %w", name, err)
		}
	}
	return nil
}

// indexes are the names of the visibility table's indexes, but for that of its
// primary key.
func indexes(db *sql.DB) ([]string, error) {
	rows, err := db.Query("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL")
	if err != nil {
		return nil, fmt.Errorf("list indexes: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list indexes: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
