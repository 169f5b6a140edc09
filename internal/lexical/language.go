package lexical

import (
	"embed"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// The stop lists are those of the Snowball project (BSD) as Lucene and bleve
// carry them (Apache-2.0), one word a line; English has "can", "will" and
// "just" in addition.
//
//go:embed stopwords/*.txt
var stopFiles embed.FS

// language is what analysis knows of one natural language.
type language struct {
	stem func(*snowballstem.Env) bool
	stop map[string]bool
}

// englishIndex is the place of English, the default, among the latin languages.
const englishIndex = 0

var (
	// latin lists the languages among which a vote of stop words decides; the
	// order decides between equals.
	latin = []language{
		{english.Stem, stopWords("english")},
		{german.Stem, stopWords("german")},
		{french.Stem, stopWords("french")},
		{spanish.Stem, stopWords("spanish")},
		{italian.Stem, stopWords("italian")},
		{portuguese.Stem, stopWords("portuguese")},
		{dutch.Stem, stopWords("dutch")},
		{swedish.Stem, stopWords("swedish")},
		{danish.Stem, stopWords("danish")},
		{norwegian.Stem, stopWords("norwegian")},
		{finnish.Stem, stopWords("finnish")},
		{hungarian.Stem, stopWords("hungarian")},
		{romanian.Stem, stopWords("romanian")},
		{turkish.Stem, stopWords("turkish")},
	}
	cyrillic = language{russian.Stem, stopWords("russian")}
	arabicLg = language{arabic.Stem, nil}
	tamilLg  = language{tamil.Stem, nil}
	// plain serves scripts without a stemmer.
	plain = language{}
	// votes says for each stop word of a latin language which languages have it.
	votes = stopVotes()
)

func stopWords(name string) map[string]bool {
	data, err := stopFiles.ReadFile("stopwords/" + name + ".txt")
	if err != nil {
		panic(err) // embedded with the program
	}
	set := map[string]bool{}
	for w := range strings.FieldsSeq(string(data)) {
		set[w] = true
	}
	return set
}

func stopVotes() map[string][]int {
	v := map[string][]int{}
	for i, l := range latin {
		for w := range l.stop {
			v[w] = append(v[w], i)
		}
	}
	return v
}

// minVotes is how many stop words another language than English must show: one
// alone is as likely a name ("Ella", "Sam") as a word.
const minVotes = 2

// vote returns the latin language that has most of the words among its stop
// words: English unless another has more, and at least minVotes.
func vote(words []string) int {
	var count [32]int
	for _, w := range words {
		for _, l := range votes[w] {
			count[l]++
		}
	}
	best := englishIndex
	for l := range latin {
		if count[l] > count[best] && count[l] >= minVotes {
			best = l
		}
	}
	return best
}

// apply stems one word.
func (l language) apply(word string) string {
	if l.stem == nil {
		return word
	}
	env := snowballstem.NewEnv(word)
	l.stem(env)
	if s := env.Current(); s != "" {
		return s
	}
	return word
}
