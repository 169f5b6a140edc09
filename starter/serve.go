package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/lightmem/lightmem/internal/api"
	"github.com/lightmem/lightmem/memory"
)

type serveCommand struct{}

// Help implements kong.HelpProvider.
func (serveCommand) Help() string {
	return example(
		`LIGHTMEM_API_TOKEN=$(openssl rand -hex 16) lightmem serve`,
		`curl -H "Authorization: Bearer $LIGHTMEM_API_TOKEN" -H "Content-Type: application/json" \`,
		`  -d '{"mode":"recall","user_id":"ada","text":"Where do I live?"}' http://127.0.0.1:8080/v1/turns`,
	) + `

It listens on this machine only unless --api-address says otherwise, and does not start without a token. TLS is a proxy's task.`
}

// drainTime is how long a stopping gateway lets running calls finish.
const drainTime = 30 * time.Second

// Run serves until ctx ends.
func (serveCommand) Run(ctx context.Context, s *session) error {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(s.cfg.Log.Level)) // the settings have checked it
	options := &slog.HandlerOptions{Level: level}
	logger := slog.New(slog.NewTextHandler(s.stderr, options))
	if s.cfg.Log.Format == "json" {
		logger = slog.New(slog.NewJSONHandler(s.stderr, options))
	}
	probe := memory.Request{Scope: memory.Scope{Tenant: s.cfg.Tenant, User: "x"}, Mode: memory.ModeRemember, Text: "x"}
	if err := probe.Validate(); err != nil {
		return err
	}
	link := &lateLink{}
	handler, err := api.New(api.Options{
		Turns: link, Memories: link, Ready: link.ready, Tenant: s.cfg.Tenant, Token: s.cfg.API.Token.Reveal(),
		K: s.cfg.Memory.K, Key: s.key, Logger: logger,
	})
	if err != nil {
		return err
	}
	if link.turns, err = s.turns(ctx); err != nil {
		return err
	}
	if link.store, err = s.store(ctx); err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.cfg.API.Address)
	if err != nil {
		return &memory.Error{Code: memory.CodeInvalid, Field: "api.address", Message: "cannot listen on " + s.cfg.API.Address, Cause: err}
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	s.page.Line("lightmem serves http://" + listener.Addr().String() + " for tenant " + string(s.cfg.Tenant) + "; Ctrl-C stops it")
	select {
	case err := <-ended:
		return memory.Wrap(memory.CodeInternal, err, "serve")
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return memory.Wrap(memory.CodeUnavailable, err, "running calls did not end in time")
	}
	return nil
}

// lateLink is what the gateway calls; it is connected once the settings have
// proved right.
type lateLink struct {
	turns
	store store
}

// Memories implements api.Memories.
func (l *lateLink) Memories(ctx context.Context, a api.Listing) (list []memory.Memory, next string, err error) {
	return l.store.Page(ctx, listing{All: a.All, AsOf: a.AsOf, Limit: a.Limit}, a.Cursor)
}

// ready reports whether database and Temporal answer.
func (l *lateLink) ready(ctx context.Context) error {
	return errors.Join(l.store.Ping(ctx), l.Ping(ctx))
}
