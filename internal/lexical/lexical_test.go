package lexical

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"english is stemmed, without stop words", "She was painting the horses", []string{"paint", "hors"}},
		{"possessives, with either apostrophe", "Florentine's and Bo’s", []string{"florentin", "bo"}},
		{"digits stay", "10,000 people, 3.5 km, 9 June 2024", []string{"10,000", "peopl", "3.5", "km", "9", "june", "2024"}},
		{"full-width forms", "ＨＥＬＬＯ　１２３", []string{"hello", "123"}},
		{"digits of other scripts", "٤٥ १२", []string{"45", "12"}},
		{"letters without accents match those with", "café résumé", []string{"cafe", "resum"}},
		{"case folds beyond ASCII", "STRASSE straße", []string{"strass", "strass"}},
		{"german by its stop words, plain forms besides", "Ich habe zwei Katzen und ein Haus", []string{"zwei", "katz", "katzen", "haus"}},
		{"one foreign stop word is no language", "Ella baked bread", []string{"ella", "bake", "bread"}},
		{"french elision", "l'amie de Marie est dans l’école", []string{"ami", "mar", "mari", "ecol"}},
		{"russian", "Я живу в Москве с ёжиками", []string{"жив", "москв", "ежик"}},
		{"greek without accents", "Καλημέρα", []string{"καλημερα"}},
		{"arabic without vowel points", "القِطَّة الصغيرة", []string{"القط", "صغير"}},
		{"hindi keeps its vowel signs", "नमस्ते दुनिया", []string{"नमस्ते", "दुनिया"}},
		// mem0#4884, mem0#7164, agentmemory#344: a run of Chinese was one word.
		{"chinese by characters and pairs", "我的猫", []string{"我", "我的", "的", "的猫", "猫"}},
		{"japanese by pairs", "東京に行く", []string{"東", "東京", "京", "に", "行", "く"}},
		{"katakana by pairs", "タワー", []string{"タワ", "ワー"}},
		{"korean by pairs, and the syllable before a particle", "개를 고양이", []string{"개", "개를", "고양", "양이"}},
		{"thai by pairs of characters with their marks", "รักแมว", []string{"รัก", "กแ", "แม", "มว"}},
		{"scripts that touch", "猫cat狗", []string{"猫", "cat", "狗"}},
		{"addresses fall into parts", "mail me@example.com", []string{"mail", "example.com"}},
		{"nothing but stop words stays", "Who are you?", []string{"who", "are", "you"}},
		{"emoji and punctuation are no words", "😀 !? — …", []string{}},
		{"empty", "", []string{}},
		{"broken UTF-8 and NUL separate", "cat\xffdog\x00bird", []string{"cat", "dog", "bird"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, Words(test.text))
		})
	}
}

// A query finds an item by the terms that they share.
func TestQueriesShareTermsWithWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, item, query string }{
		{"inflection", "I adopted two cats", "adopting a cat"},
		{"a german word in a query too short to tell", "Ich habe zwei Katzen und die sind groß", "Katzen?"},
		{"chinese, one character", "我家有一只猫", "猫"},
		{"chinese, another sentence", "我昨天去了北京旅游", "你什么时候去北京？"},
		{"japanese", "先週、東京タワーに行きました", "東京タワーはいつ？"},
		{"korean with another particle", "고양이를 키워요", "고양이가 있어?"},
		{"korean, one syllable", "개를 키워요", "개"},
		{"thai", "ฉันรักแมวมาก", "แมว"},
		{"russian case", "Я живу в Москве", "Кто в Москва?"},
		{"accents left out", "Ich esse gern Döner", "Doner"},
		{"numbers in other digits", "غرفة رقم ٤٥", "45"},
		{"names in any case", "I met ÉLODIE", "élodie"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			item := Analyze(test.item)
			require.True(t, slices.ContainsFunc(Analyze(test.query), func(term int32) bool { return slices.Contains(item, term) }),
				"%q and %q", Words(test.item), Words(test.query))
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	// Stored terms outlive a build: who changes what these texts give must
	// raise Version, and then this test.
	require.Equal(t, 1, Version)
	require.Equal(t, []int32{1689844019, -990083097}, Analyze("The painted horses"))
}

func TestTraits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text, speaker string
		want                Traits
	}{
		{"a statement", "I like tea", "", Traits{}},
		{"a question", "Do you like tea?", "", Traits{Question: true}},
		{"a question beside a photo", "Ann: Isn't it nice? [sends a picture: a cat]", "Ann", Traits{Question: true}},
		{"a question in Chinese", "你喜欢茶吗？", "", Traits{Question: true}},
		{"a relative date", "I ran a race yesterday", "", Traits{Time: true}},
		{"a year", "it was built in 1998", "", Traits{Time: true}},
		{"four digits that are no year", "port 9077", "", Traits{}},
		{"a month", "we met in July", "", Traits{Time: true, Name: true}},
		{"somebody's name", "I met Rachel", "", Traits{Name: true}},
		{"capitals at beginnings tell nothing", "Hello. Nice tea! Thanks: Good", "", Traits{}},
		{"nor do the speaker and I", "Ann: I'm Ann and I am OK", "Ann", Traits{}},
		{"empty", "", "", Traits{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, TraitsOf(test.text, test.speaker))
		})
	}
}

func TestAsksWhen(t *testing.T) {
	t.Parallel()
	for _, q := range []string{"When did I move?", "what year was it?", "On which day did Ann call?", "How long ago was that?", "Wann war das?", "¿Cuándo te mudaste?", "你什么时候去的？", "いつ行きましたか"} {
		require.True(t, AsksWhen(q), q)
	}
	for _, q := range []string{"", "What did I do when I was in Lyon?", "Whenever", "What do I like?", "Daytime plans?"} {
		require.False(t, AsksWhen(q), q)
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"", "The horses", "我的猫", "고양이를", "ฉันรักแมว", "l'amie", "القِطَّة", "\xff\x00", "😀", strings.Repeat("a", 200), "ÄÖÜß", "'_'", "नमस्ते", "ǅ ﬁ İ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := Words(text)
		require.LessOrEqual(t, len(words), 4*len(text)+1, "bounded")
		for _, w := range words {
			require.NotEmpty(t, w)
			require.True(t, utf8.ValidString(w))
		}
		require.Equal(t, words, Words(text), "the same again")
		require.Len(t, Analyze(text), len(words))
		TraitsOf(text, text)
		AsksWhen(text)
	})
}

func BenchmarkAnalyze(b *testing.B) {
	const text = "Ida: The ferry was late on Monday, so we waited in the harbour cafe. Jonas drew boats for an hour and then beat everybody at chess."
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Analyze(text)
	}
}
