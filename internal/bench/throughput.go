package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// throughput is what goes through with a number of users at once, each sending
// his next turn when the last one is over.
type throughput struct {
	// Turn is "recall" or "full turn with write".
	Turn   string  `json:"turn"`
	Served string  `json:"served"`
	Users  int     `json:"users"`
	Rate   float64 `json:"per_second"`
	// Target is the least rate that is aimed at with 8 users; 0 for none.
	Target float64 `json:"target_per_second,omitempty"`
	// Reply is until the caller has the reply, Whole until the write is
	// committed and its receipt is there; for recalls they are the same.
	Reply spread `json:"reply"`
	Whole spread `json:"whole"`
	// CPU is how many cores each process used, of the machine's; PerTurn is
	// the processor time of ours for one turn, which bounds the rate whatever
	// else the machine does.
	CPU     usage `json:"cpu_cores"`
	PerTurn cost  `json:"cpu_ms_per_turn"`
	// Saturated is what was exhausted first.
	Saturated string `json:"saturated"`
	// Failed counts turns that failed, Degraded those not served as configured.
	Failed   int `json:"failed"`
	Degraded int `json:"degraded"`
	// Written counts memories added by full turns.
	Written int `json:"written,omitempty"`
}

// targetP95 is the target for the reply's P95 with 8 users, in milliseconds.
const targetP95 = 200.0

// kind is a sort of turn to send.
type kind struct {
	name   string
	served string
	mode   memory.Mode
	rules  bool
	target float64
}

var kinds = []kind{
	{"recall", servedByRules, memory.ModeRecall, true, 60},
	{"recall", servedByGPU, memory.ModeRecall, false, 30},
	{"full turn with write", servedByRules, memory.ModeAnswer, true, 40},
	{"full turn with write", servedByGPU, memory.ModeAnswer, false, 20},
}

func (in *installation) measureThroughput(ctx context.Context, s size, say func(string, ...any)) ([]throughput, error) {
	most := s.concurrent[len(s.concurrent)-1]
	say("throughput: load the indexes of %d users", most)
	if err := in.warm(ctx, in.users[:most]); err != nil {
		return nil, err
	}
	var out []throughput
	for _, k := range kinds {
		for _, n := range s.concurrent {
			m, err := in.throughputOf(ctx, k, in.users[:n], s.window)
			if err != nil {
				return nil, err
			}
			say("throughput: %s by %s, %d users: %.1f a second, reply P95 %.0f ms", k.name, k.served, n, m.Rate, m.Reply.P95)
			out = append(out, m)
		}
	}
	return out, nil
}

// warm runs one recall of each user, a few at a time.
func (in *installation) warm(ctx context.Context, users []user) error {
	slots := make(chan struct{}, 4)
	errs := make(chan error, len(users))
	for _, u := range users {
		slots <- struct{}{}
		go func() {
			_, _, _, err := in.turn(ctx, in.request(u, memory.ModeRecall, "warm", "What did Ann mention?", true))
			<-slots
			errs <- err
		}()
	}
	for range users {
		if err := <-errs; err != nil {
			return fmt.Errorf("load the indexes: %w", err)
		}
	}
	return nil
}

// throughputOf lets the users send turns for the window.
func (in *installation) throughputOf(ctx context.Context, k kind, users []user, window time.Duration) (throughput, error) {
	m := throughput{Turn: k.name, Served: k.served, Users: len(users)}
	if len(users) == 8 {
		m.Target = k.target
	}
	texts := make([][]string, len(users))
	for i, u := range users { // the corpus's randomness is not for many goroutines
		for n := range 200 {
			text := in.corpus.question(u.offset, u.items)
			if k.mode == memory.ModeAnswer {
				text = in.corpus.news(int(in.keys.Load()) + 1000*i + n)
			}
			texts[i] = append(texts[i], text)
		}
	}
	var (
		mu           sync.Mutex
		reply, whole []time.Duration
		firstFailure error
		wg           sync.WaitGroup
	)
	before := in.cpu(ctx)
	began := time.Now()
	end := began.Add(window)
	for i, u := range users {
		wg.Go(func() {
			conversation := fmt.Sprintf("%s-%s-%d-%d", k.mode, k.served, len(users), began.Unix())
			for n := 0; ctx.Err() == nil && time.Now().Before(end); n++ {
				text := texts[i][n%len(texts[i])]
				if n >= len(texts[i]) {
					text = fmt.Sprintf("%s (%d)", text, n)
				}
				r, w, receipt, err := in.turn(ctx, in.request(u, k.mode, conversation, text, k.rules))
				mu.Lock()
				switch {
				case err != nil:
					m.Failed++
					firstFailure = err
				case time.Now().Before(end):
					reply, whole = append(reply, r), append(whole, w)
				}
				if len(receipt.Degraded) > 0 {
					m.Degraded++
				}
				for _, o := range receipt.Written {
					if o.Event == memory.EventAdded {
						m.Written++
					}
				}
				mu.Unlock()
			}
		})
	}
	timer := time.NewTimer(window)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	m.CPU = in.cpu(ctx).since(before, time.Since(began))
	wg.Wait()
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	if len(reply) == 0 {
		return m, fmt.Errorf("no turn went through: %w", firstFailure)
	}
	m.Rate = round(float64(len(reply))/window.Seconds(), 1)
	m.Reply, m.Whole = spreadOf(reply), spreadOf(whole)
	m.Saturated = m.CPU.saturated()
	m.PerTurn = m.CPU.over(m.Rate)
	return m, nil
}
