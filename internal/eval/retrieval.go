package eval

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/lightmem/lightmem/memory"
)

// Rememberer writes a conversation to the memory of the scope of ctx.
type Rememberer interface {
	// Remember keeps each utterance of each session as one memory, and returns
	// by dialogue id the memory that holds it. Utterances with the same words
	// may share one.
	Remember(ctx context.Context, c Conversation) (map[string]memory.ID, error)
}

// Recaller finds memories of the scope of ctx.
type Recaller interface {
	// Recall returns the ids of up to k memories for a question that is asked
	// after the conversation's end, best first.
	Recall(ctx context.Context, c Conversation, question string, k int) ([]memory.ID, error)
}

// DefaultCutoffs are the k of the recall that is reported.
func DefaultCutoffs() []int { return []int{5, 10, 20} }

// maxCutoff is as many candidates as a turn can have.
const maxCutoff = 2 * memory.MaxK

// Recall is by cut-off the share of a question's evidence among as many of the
// best memories, averaged over questions.
type Recall map[int]float64

// MarshalJSON writes the cut-offs in their order, rounded to four places.
func (r Recall) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, k := range slices.Sorted(keys(r)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = strconv.AppendInt(out, int64(k), 10)
		out = append(out, '"', ':')
		v, err := strconv.ParseFloat(strconv.FormatFloat(r[k], 'f', 4, 64), 64)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return append(out, '}'), nil
}

func keys(r Recall) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range r {
			if !yield(k) {
				return
			}
		}
	}
}

// RetrievalReport is what `lightmem eval locomo --mode retrieval --json` prints.
type RetrievalReport struct {
	// Questions counts the questions of categories 1 to 4 that have evidence.
	Questions  int            `json:"questions"`
	Recall     Recall         `json:"recall"`
	ByCategory map[int]Recall `json:"by_category"`
}

// Retrieval measures the recall of evidence (retrieval only, no language
// model). For each conversation scope returns the context of its own user;
// progress, unless nil, is called after each with how many are done.
func Retrieval(ctx context.Context, conversations []Conversation, cutoffs []int,
	scope func(ctx context.Context, c Conversation) context.Context,
	write Rememberer, read Recaller, progress func(done int),
) (RetrievalReport, error) {
	if len(cutoffs) == 0 {
		cutoffs = DefaultCutoffs()
	}
	for _, k := range cutoffs {
		if k < 1 || k > maxCutoff {
			return RetrievalReport{}, memory.Invalid("k", "must be between 1 and %d", maxCutoff)
		}
	}
	t := tally{cutoffs: cutoffs, sums: map[int][]float64{}, counts: map[int]int{}}
	for i, c := range conversations {
		if err := t.conversation(scope(ctx, c), c, write, read); err != nil {
			return RetrievalReport{}, memory.Wrap(memory.CodeOf(err), err, "conversation %q", c.ID)
		}
		if progress != nil {
			progress(i + 1)
		}
	}
	return t.report(), nil
}

// tally adds up recall by category.
type tally struct {
	cutoffs []int
	sums    map[int][]float64
	counts  map[int]int
}

func (t *tally) conversation(ctx context.Context, c Conversation, write Rememberer, read Recaller) error {
	where, err := write.Remember(ctx, c)
	if err != nil {
		return memory.Wrap(memory.CodeOf(err), err, "remember")
	}
	for _, q := range c.Questions {
		if !q.measured() {
			continue
		}
		found, err := read.Recall(ctx, c, q.Text, slices.Max(t.cutoffs))
		if err != nil {
			return memory.Wrap(memory.CodeOf(err), err, "recall")
		}
		t.add(q, where, found)
	}
	return nil
}

// measured reports whether a question counts: those of category 5 have no
// answer in the conversation.
func (q Question) measured() bool {
	return q.Category >= 1 && q.Category <= 4 && len(q.Evidence) > 0
}

func (t *tally) add(q Question, where map[string]memory.ID, found []memory.ID) {
	sums := t.sums[q.Category]
	if sums == nil {
		sums = make([]float64, len(t.cutoffs))
		t.sums[q.Category] = sums
	}
	t.counts[q.Category]++
	for i, k := range t.cutoffs {
		top := found[:min(k, len(found))]
		hits := 0
		for _, e := range q.Evidence {
			if id, ok := where[e]; ok && slices.Contains(top, id) {
				hits++
			}
		}
		sums[i] += float64(hits) / float64(len(q.Evidence))
	}
}

func (t *tally) report() RetrievalReport {
	out := RetrievalReport{Recall: Recall{}, ByCategory: map[int]Recall{}}
	total := make([]float64, len(t.cutoffs))
	for category, sums := range t.sums {
		n := t.counts[category]
		out.Questions += n
		out.ByCategory[category] = Recall{}
		for i, k := range t.cutoffs {
			total[i] += sums[i]
			out.ByCategory[category][k] = sums[i] / float64(n)
		}
	}
	for i, k := range t.cutoffs {
		out.Recall[k] = total[i] / float64(max(out.Questions, 1))
	}
	return out
}
