package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/memory"
)

type auditCommand struct {
	Verify auditVerifyCommand `cmd:"" help:"Find a changed, removed or reordered event of the tenant."`
}

type auditVerifyCommand struct {
	Anchor []audit.Anchor `placeholder:"SEQ:HASH" help:"A head that an earlier check printed; it must still be in the chain. May come several times."`
}

// Help implements kong.HelpProvider.
func (auditVerifyCommand) Help() string {
	return example(`lightmem audit verify --tenant default`) + "\n\nNote the head that it prints outside the database: a later check against it (--anchor) shows even a chain that was rewritten as a whole. A chain that is not whole is a conflict: exit code 4."
}

// verifyShape is the JSON of audit verify.
type verifyShape struct {
	OK bool `json:"ok"`
	audit.Report
}

// Run verifies the chain.
func (c *auditVerifyCommand) Run(ctx context.Context, s *session) error {
	if err := (memory.Request{Scope: memory.Scope{Tenant: s.cfg.Tenant, User: "x"}, Mode: memory.ModeRemember, Text: "x"}).Validate(); err != nil {
		return err
	}
	st, err := s.store(ctx)
	if err != nil {
		return err
	}
	report, err := st.VerifyAudit(ctx, s.cfg.Tenant, c.Anchor)
	if err != nil {
		return err
	}
	if s.json {
		report.Faults = notNil(report.Faults)
		err = s.document(verifyShape{report.OK(), report})
	} else {
		for _, f := range report.Faults {
			at := fmt.Sprintf("event %d", f.Seq)
			if f.To > f.Seq {
				at = fmt.Sprintf("events %d–%d", f.Seq, f.To)
			}
			s.page.Entry(0, 16, s.page.Bad(at), string(f.Kind)+": "+f.Detail)
		}
		if report.OK() {
			s.page.Line(s.page.Good("whole") + fmt.Sprintf(": %d events; head %s", report.Events, report.Head))
		}
	}
	if err == nil && !report.OK() {
		err = memory.Errorf(memory.CodeConflict, "the audit of the tenant is not whole: %d faults", report.Count)
	}
	return err
}

type migrateCommand struct {
	Up     migrateUpCommand     `cmd:"" help:"Bring the schema up to this program's version."`
	Down   migrateDownCommand   `cmd:"" help:"Take the schema down; removes the data that newer versions hold."`
	Status migrateStatusCommand `cmd:"" help:"Show the schema's version."`
}

// owner is the address that migrations use.
func (s *session) owner() (string, error) {
	url := s.cfg.Database.OwnerURL.Reveal()
	if url == "" {
		return "", memory.Invalid("database.url", "is not set: `make up` starts a database, or set LIGHTMEM_DATABASE_URL to yours")
	}
	return url, nil
}

func (s *session) tellVersion(ctx context.Context, url string) error {
	version, err := s.migrations.Version(ctx, url)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(struct {
			Version int64 `json:"version"`
			Latest  int64 `json:"latest"`
		}{version, s.migrations.Latest()})
	}
	s.page.Line(fmt.Sprintf("schema version %d of %d", version, s.migrations.Latest()))
	return nil
}

type migrateUpCommand struct{}

// Help implements kong.HelpProvider.
func (migrateUpCommand) Help() string { return example(`lightmem migrate up`) }

// Run migrates up.
func (migrateUpCommand) Run(ctx context.Context, s *session) error {
	url, err := s.owner()
	if err == nil {
		err = s.migrations.Up(ctx, url)
	}
	if err != nil {
		return err
	}
	return s.tellVersion(ctx, url)
}

type migrateDownCommand struct {
	To  *int64 `placeholder:"VERSION" required:"" help:"Version to go down to; 0 removes everything."`
	Yes bool   `help:"Do it; without this nothing is done."`
}

// Help implements kong.HelpProvider.
func (migrateDownCommand) Help() string { return example(`lightmem migrate down --to 5 --yes`) }

// Run migrates down.
func (c *migrateDownCommand) Run(ctx context.Context, s *session) error {
	if *c.To < 0 || *c.To > s.migrations.Latest() {
		return memory.Invalid("to", "must be between 0 and %d", s.migrations.Latest())
	}
	if !c.Yes {
		return memory.Invalid("yes", "is required: going down removes data")
	}
	url, err := s.owner()
	if err == nil {
		err = s.migrations.Down(ctx, url, *c.To)
	}
	if err != nil {
		return err
	}
	return s.tellVersion(ctx, url)
}

type migrateStatusCommand struct{}

// Help implements kong.HelpProvider.
func (migrateStatusCommand) Help() string { return example(`lightmem migrate status`) }

// Run shows the version.
func (migrateStatusCommand) Run(ctx context.Context, s *session) error {
	url, err := s.owner()
	if err != nil {
		return err
	}
	return s.tellVersion(ctx, url)
}

type configCommand struct {
	Show configShowCommand `cmd:"" help:"Every setting, its value and where it comes from; secrets masked."`
}

type configShowCommand struct{}

// Help implements kong.HelpProvider.
func (configShowCommand) Help() string { return example(`lightmem config show`) }

// Run shows the settings.
func (configShowCommand) Run(s *session) error {
	shown := s.loader.Show(s.given)
	if s.json {
		return s.document(struct {
			Settings []config.Shown `json:"settings"`
		}{shown})
	}
	for _, x := range shown {
		origin := ""
		if x.Origin != "default" {
			origin = s.page.Dim("  (" + page.Safe(x.Origin) + ")")
		}
		value := page.Safe(x.Value)
		if value == "" {
			value = s.page.Dim("–")
		}
		s.page.Line(fmt.Sprintf("%-29s ", x.Name) + value + origin)
	}
	return nil
}

type versionCommand struct{}

// Help implements kong.HelpProvider.
func (versionCommand) Help() string { return example(`lightmem version --json`) }

// Run prints the version.
func (versionCommand) Run(s *session) error {
	version, revision := buildVersion()
	if s.json {
		return s.document(struct {
			Version  string `json:"version"`
			Revision string `json:"revision"`
			Go       string `json:"go"`
			Schema   int64  `json:"schema"`
		}{version, revision, runtime.Version(), s.migrations.Latest()})
	}
	s.page.Line(fmt.Sprintf("lightmem %s (%s, %s, schema %d)", version, cmp.Or(revision, "no revision"), runtime.Version(), s.migrations.Latest()))
	return nil
}

// buildVersion is what the Go tool recorded in the binary.
func buildVersion() (version, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value[:min(12, len(s.Value))]
		}
	}
	return info.Main.Version, revision
}
