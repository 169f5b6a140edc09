package speech_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/speech"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"plain", "I moved. It was fun! Was it?", []string{"I moved.", "It was fun!", "Was it?"}},
		{"title", "I met Dr. Kim in Oslo. She is kind.", []string{"I met Dr. Kim in Oslo.", "She is kind."}},
		{"initial", "J. Smith owns Atlas. I like it.", []string{"J. Smith owns Atlas.", "I like it."}},
		{"I at the end", "He is taller than I. Anna agrees.", []string{"He is taller than I.", "Anna agrees."}},
		{"numbers", "Version 2.1 costs 3.50 now. Fine.", []string{"Version 2.1 costs 3.50 now.", "Fine."}},
		{"German ordinal", "Am 3. Mai ziehe ich um. Ich freue mich.", []string{"Am 3. Mai ziehe ich um.", "Ich freue mich."}},
		{"lines and lists", "Notes:\n- I like tea\n2. Anna is here", []string{"Notes:", "I like tea", "Anna is here"}},
		{"Chinese without spaces", "我住在北京。我喜欢茶！你呢？", []string{"我住在北京。", "我喜欢茶！", "你呢？"}},
		{"mixed", "I live in 北京。I like it.", []string{"I live in 北京。", "I like it."}},
		{"ellipsis", "Well… I moved.", []string{"Well… I moved."}},
		{"time of day", "We meet at 5 p.m. on Friday. Good.", []string{"We meet at 5 p.m. on Friday.", "Good."}},
		{"empty", " \n\t ", nil},
		{"a quotation of two sentences", "Tom wrote: \"I moved. I work.\" I replied.", []string{"Tom wrote: \"I moved. I work.\"", "I replied."}},
		{"a length is no quotation", "It is 5\" long. It is 7\" wide.", []string{"It is 5\" long.", "It is 7\" wide."}},
		{"apostrophes", "The dogs' bowl is here. It's the cats' one. Fine.", []string{"The dogs' bowl is here.", "It's the cats' one.", "Fine."}},
		{"an address", "I use https://a.example/x?id=5&y=6 for work. Good?", []string{"I use https://a.example/x?id=5&y=6 for work.", "Good?"}},
		{"a number begins", "I moved. 10 days ago I left.", []string{"I moved.", "10 days ago I left."}},
		{"a number after an abbreviation", "It weighs approx. 10 pounds, see fig. 3 below.", []string{"It weighs approx. 10 pounds, see fig. 3 below."}},
		{"quotation", "He said \"I quit.\" Then he left.", []string{"He said \"I quit.\"", "Then he left."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range speech.Sentences(c.text) {
				require.Equal(t, s.Text, c.text[s.Start:s.Start+len(s.Text)])
				got = append(got, s.Text)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]speech.Lang{
		"I moved to Berlin": "en", "Anna, Oslo": "en", "": "", "👍": "",
		"Ich wohne seit gestern in Berlin": "de", "Ich heiße Anna": "de", "Vivo en Madrid desde ayer": "es", "Me llamo Ana": "es",
		"J'habite à Paris": "fr", "Je m'appelle Anne": "fr", "Abito a Roma": "it", "Mi chiamo Anna": "it", "Moro em Lisboa": "pt", "O meu nome é Ana": "pt",
		"我住在北京": "zh", "我在 Google 工作": "zh", "東京に住んでいます": "ja", "저는 서울에 살아요": "ko", "Я живу в Москве": "ru", "אני גר בחיפה": "",
	} {
		require.Equal(t, want, speech.Language(text), text)
	}
}

func TestIsQuestion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Where do I live?": true, "where do I live": true, "What did Anna say": true, "Do you remember my name": true, "And where does she work": true, "What's my budget": true,
		"What a day!": false, "When I was in Oslo I met Ben.": false, "I don't know where he is.": false, "Will moved to Oslo.": false, "May is my birthday month.": false,
		"Wo wohne ich": true, "¿Dónde vivo": true, "où est-ce que j'habite": true, "我住在哪里？": true, "你记得吗": true, "どこに住んでいますか。": true, "我住在北京": false,
		"Can you believe it!": true, "\"Really?\"": true,
	} {
		require.Equal(t, want, speech.IsQuestion(text, speech.Language(text)), text)
	}
}

func FuzzSentences(f *testing.F) {
	for _, s := range []string{"", "a. b", "1. ", "\xff.\xfe", "。。", "Dr. ", "- \n- "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, s := range speech.Sentences(text) {
			require.NotEmpty(t, s.Text)
			require.GreaterOrEqual(t, s.Start, end)
			end = s.Start + len(s.Text)
			require.Equal(t, s.Text, text[s.Start:end])
		}
		speech.Language(text)
		speech.IsQuestion(text, speech.Language(text))
	})
}
