package main

import (
	_ "github.com/temporalio/ui-server/v2/server"
	_ "github.com/temporalio/ui-server/v2/server/config"
	_ "github.com/temporalio/ui-server/v2/server/server_options"
	_ "go.temporal.io/sdk/client"
	_ "go.temporal.io/server/common/dynamicconfig"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	_ "go.temporal.io/server/schema/sqlite"
	_ "go.temporal.io/server/temporal"
)

func main() {}
