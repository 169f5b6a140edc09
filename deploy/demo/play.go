package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// Turns runs turns.
type Turns interface {
	Reply(ctx context.Context, r memory.Request) (memory.Reply, error)
	Receipt(ctx context.Context, r memory.Request) (memory.Receipt, error)
}

// Store tells turns' stories and keeps profiles.
type Store interface {
	SetProfile(ctx context.Context, p memory.Profile) error
	Trace(ctx context.Context, id memory.TurnID) (story.Turn, error)
}

// Player plays the conversation.
type Player struct {
	Turns  Turns
	Store  Store
	Tenant memory.TenantID
	// Suffix sets this playing apart from others; empty for the one that is
	// played again and again.
	Suffix string
	// Out receives the stories, Progress the progress: one line that is written
	// over where Terminal says so, else a line now and then.
	Out      *page.Page
	Progress io.Writer
	Terminal bool
	// Key makes fresh idempotency keys.
	Key func() string
	Now func() time.Time
}

// Summary counts what the history left in memory.
type Summary struct {
	Turns  int                  `json:"turns"`
	Events map[memory.Event]int `json:"events"`
	// Told are the finale's turns.
	Told []story.Turn `json:"told"`
	// Took is how long the whole run took, in nanoseconds.
	Took time.Duration `json:"took"`
}

// Play plays the whole conversation and tells the finale's stories.
func (p *Player) Play(ctx context.Context, c *Conversation) (Summary, error) {
	began := p.Now()
	sum := Summary{Events: map[memory.Event]int{}}
	if err := p.profiles(ctx, c); err != nil {
		return sum, err
	}
	if err := p.history(ctx, c, &sum); err != nil {
		return sum, err
	}
	p.Out.Line(fmt.Sprintf("%d turns played in %.1f s, by the rules: %s.", sum.Turns, p.Now().Sub(began).Seconds(), counted(sum.Events)))
	p.Out.Line("The last turns follow with their whole story; the configured models serve those that say so.")
	for i, t := range c.Finale {
		told, took, err := p.tell(ctx, t)
		if err != nil {
			return sum, err
		}
		sum.Told = append(sum.Told, told)
		by := "rules"
		if modelled(told) {
			by = "models"
		}
		p.Out.Line("")
		when := fmt.Sprintf("%.1f s", took.Seconds())
		if !told.AcceptedAt.IsZero() && told.AcceptedAt.Before(began) {
			when = "on record from an earlier run"
		}
		p.Out.Line(p.Out.Dim(fmt.Sprintf("— %d of %d, by the %s, %s —", i+1, len(c.Finale), by, when)))
		story.Tell(p.Out, told, zoneOf(c, t.Person))
	}
	if err := p.live(ctx, c); err != nil {
		return sum, err
	}
	sum.Took = p.Now().Sub(began)
	return sum, p.Out.Err()
}

func (p *Player) profiles(ctx context.Context, c *Conversation) error {
	for _, who := range c.People {
		ctx := tenant.NewContext(ctx, memory.Scope{Tenant: p.Tenant, User: who.ID + memory.UserID(p.Suffix)})
		if err := p.Store.SetProfile(ctx, memory.Profile{Name: who.Name, TimeZone: who.TimeZone}); err != nil {
			return fmt.Errorf("set the profile of %s: %w", who.ID, err)
		}
	}
	return nil
}

// history plays the people side by side and each one's turns in order: what a
// turn supersedes must be there before it.
func (p *Player) history(ctx context.Context, c *Conversation, sum *Summary) error {
	people := c.History()
	total := 0
	for _, turns := range people {
		total += len(turns)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, turns := range people {
		all.Go(func() {
			for _, t := range turns {
				written, err := p.one(ctx, t)
				mu.Lock()
				if err != nil {
					cancel(err)
					mu.Unlock()
					return
				}
				sum.Turns++
				for _, o := range written {
					sum.Events[o.Event]++
				}
				p.progress(sum.Turns, total)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// one runs a turn and waits for its write.
func (p *Player) one(ctx context.Context, t Turn) ([]memory.Outcome, error) {
	r := t.Request(p.Tenant, p.Suffix)
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("check the turn of %s: %w", t.At.Format(time.DateTime), err)
	}
	if _, err := p.Turns.Reply(ctx, r); err != nil {
		return nil, fmt.Errorf("play the turn of %s: %w", t.At.Format(time.DateTime), err)
	}
	receipt, err := p.Turns.Receipt(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("wait for the write of %s: %w", t.At.Format(time.DateTime), err)
	}
	return receipt.Written, nil
}

// tell runs a turn and returns its story as it is on record.
func (p *Player) tell(ctx context.Context, t Turn) (story.Turn, time.Duration, error) {
	r := t.Request(p.Tenant, p.Suffix)
	began := p.Now()
	stop := p.waiting(ctx, t)
	reply, err := p.Turns.Reply(ctx, r)
	took := p.Now().Sub(began)
	if err == nil {
		_, err = p.Turns.Receipt(ctx, r)
	}
	stop()
	if err != nil {
		return story.Turn{}, 0, fmt.Errorf("play the turn of %s: %w", t.At.Format(time.DateTime), err)
	}
	told, err := p.Store.Trace(tenant.NewContext(ctx, r.Scope), reply.TurnID)
	if err != nil {
		return story.Turn{}, 0, fmt.Errorf("read the story of %s: %w", reply.TurnID, err)
	}
	return told, took, nil
}

// live asks what a fresh process would ask: nothing is written.
func (p *Player) live(ctx context.Context, c *Conversation) error {
	p.Out.Line("")
	for _, t := range c.Live {
		r := t.Request(p.Tenant, p.Suffix)
		r.Mode, r.Conversation, r.IdempotencyKey = memory.ModeRecall, "live", p.Key()
		began := p.Now()
		reply, err := p.Turns.Reply(ctx, r)
		if err != nil {
			return fmt.Errorf("recall: %w", err)
		}
		took := p.Now().Sub(began)
		told := story.OfReply(reply)
		p.Out.Line(p.Out.Bold("recall ") + page.Safe(string(r.User)) + ": " + t.Says + p.Out.Dim(fmt.Sprintf("  (%d ms, by the rules)", took.Milliseconds())))
		for _, s := range told.Selected {
			p.Out.Entry(2, 2, "•", s.Memory)
		}
		if len(told.Selected) == 0 {
			p.Out.Line("  nothing selected")
		}
	}
	return nil
}

const bar = 32

func (p *Player) progress(done, total int) {
	if !p.Terminal {
		if done%10 == 0 || done == total {
			fmt.Fprintf(p.Progress, "played %d of %d turns\n", done, total)
		}
		return
	}
	n := bar * done / total
	fmt.Fprintf(p.Progress, "\r\x1b[Kplaying the history [%s%s] %d/%d", strings.Repeat("#", n), strings.Repeat(".", bar-n), done, total)
	if done == total {
		fmt.Fprint(p.Progress, "\r\x1b[K")
	}
}

// modelled reports whether any role but embedding was given to a model.
func modelled(t story.Turn) bool {
	for role, who := range t.Serving {
		if role != memory.RoleEmbed && who != "" && who != memory.ServedByRules {
			return true
		}
	}
	return false
}

// waiting shows that something goes on while a model thinks.
func (p *Player) waiting(ctx context.Context, t Turn) (stop func()) {
	if !t.Models {
		return func() {}
	}
	if !p.Terminal {
		fmt.Fprintln(p.Progress, "the configured models serve a turn; on two CPU cores this takes some seconds")
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	began := p.Now()
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				fmt.Fprint(p.Progress, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(p.Progress, "\r\x1b[Kthe configured models serve a turn … %.0f s", p.Now().Sub(began).Seconds())
			}
		}
	}()
	return func() { cancel(); <-done }
}

// counted says how many statements came to what, in a fixed order.
func counted(events map[memory.Event]int) string {
	var parts []string
	for _, e := range []memory.Event{
		memory.EventAdded, memory.EventReinforced, memory.EventSuperseded, memory.EventContested, memory.EventRefused,
	} {
		if n := events[e]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, e))
		}
	}
	if len(parts) == 0 {
		return "nothing written"
	}
	return strings.Join(parts, ", ")
}

func zoneOf(c *Conversation, id memory.UserID) *time.Location {
	for _, who := range c.People {
		if who.ID == id {
			return memory.Profile{TimeZone: who.TimeZone}.Location()
		}
	}
	return time.UTC
}
