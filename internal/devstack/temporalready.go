package devstack

import (
	"context"
	"fmt"
	"log/slog"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// temporalReady reports whether the server at address can start workflows: it
// answers, knows the default namespace and LightMem's search attributes.
func temporalReady(ctx context.Context, address string) error {
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	dialled, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer dialled.Close()
	_, err = dialled.WorkflowService().ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: "default", PageSize: 1, Query: "MemTenant = 'none'",
	})
	if err != nil {
		return fmt.Errorf("ask for workflows: %w", err)
	}
	return nil
}
