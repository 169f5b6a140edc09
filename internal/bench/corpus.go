package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/memory"
)

// embedModel is the name of the instant embedding model.
const embedModel = "instant"

// perConversation is how many statements follow each other in a conversation.
const perConversation = 12

// statement is one item as it is loaded.
type statement struct {
	text, speaker string
	kind          memory.Kind
	terms         []int32
	vector        memory.Vector
}

// termBytes are the terms as the table keeps them.
func (s statement) termBytes() []byte {
	out := make([]byte, 0, 4*len(s.terms))
	for _, t := range s.terms {
		out = binary.LittleEndian.AppendUint32(out, uint32(t))
	}
	return out
}

// corpus is a store of different statements, from which each user has a
// stretch of his own. It is the same in every run.
type corpus struct {
	statements []statement
	words      []string
	r          *rand.Rand
}

// newCorpus makes n statements whose words are as frequent as those of
// language (Zipf), eight to twenty-seven words each.
func newCorpus(n int) *corpus {
	c := &corpus{r: rand.New(rand.NewPCG(2604, 7798)), words: vocabulary(8_000)}
	kinds := []memory.Kind{memory.KindFact, memory.KindEvent, memory.KindNote, memory.KindPreference}
	months := []string{"January", "March", "May", "July", "October"}
	c.statements = make([]statement, n)
	texts := make([]string, n)
	for i := range c.statements {
		s := &c.statements[i]
		s.speaker = []string{"Ann", "Ben"}[i%2]
		s.kind = kinds[i%len(kinds)]
		s.text = s.speaker + ": " + c.phrase(8+c.r.IntN(20))
		if i%5 == 0 {
			s.text += fmt.Sprintf(" on %d %s", 1+c.r.IntN(28), months[c.r.IntN(len(months))])
		}
		s.text += "."
		s.terms = lexical.Analyze(s.text)
		texts[i] = s.text
	}
	for i, v := range scripted.InstantVectors(texts) {
		c.statements[i].vector = v
	}
	return c
}

// phrase is a row of words, the frequent ones most often.
func (c *corpus) phrase(n int) string {
	words := make([]string, n)
	for i := range words {
		rank := int(math.Exp(c.r.Float64() * math.Log(float64(len(c.words))))) // Zipf's law
		words[i] = c.words[min(rank, len(c.words))-1]
	}
	return strings.Join(words, " ")
}

// of returns the i-th item of the user with the given offset.
func (c *corpus) of(offset, i int) statement { return c.statements[(offset+i)%len(c.statements)] }

// question asks for something that the user with the given offset and number
// of items said.
func (c *corpus) question(offset, items int) string {
	said := strings.Fields(strings.TrimSuffix(c.of(offset, c.r.IntN(items)).text, "."))
	at := 1 + c.r.IntN(len(said)-5)
	ask := []string{"When did Ann mention", "What did Ben say about", "Which one was it with"}[c.r.IntN(3)]
	return ask + " " + strings.Join(said[at:at+4], " ") + "?"
}

// news is a statement that nobody has made before, for a turn that writes.
func (c *corpus) news(n int) string {
	return fmt.Sprintf("I bought a %s for %d euros in %s. What did Ben say about %s?",
		c.words[c.r.IntN(len(c.words))], n, capital(c.words[c.r.IntN(len(c.words))]), c.phrase(3))
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// vocabulary makes n different pronounceable words, the short ones first.
func vocabulary(n int) []string {
	heads := strings.Fields("b d f g h k l m n p r s t v z br dr gr kl pl st tr")
	tails := strings.Fields("a e i o u an el in or um ak esh ip ot ul")
	syllables := make([]string, 0, len(heads)*len(tails))
	for _, t := range tails {
		for _, h := range heads {
			syllables = append(syllables, h+t)
		}
	}
	out := make([]string, 0, n)
	for i := 0; len(out) < n; i++ {
		word := syllables[i%len(syllables)] + syllables[(i*7+i/len(syllables))%len(syllables)]
		if i >= len(syllables)*4 {
			word += syllables[(i*13+i/len(syllables))%len(syllables)]
		}
		out = append(out, word)
	}
	return out
}
