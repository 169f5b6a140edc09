package when_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/speech"
	"github.com/lightmem/lightmem/internal/when"
)

func zone(t testing.TB, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

func TestFind(t *testing.T) {
	t.Parallel()
	ref := time.Date(2026, 5, 6, 9, 0, 0, 0, zone(t, "Europe/Berlin")) // a Wednesday
	for text, want := range map[string]string{
		// English, relative
		"I went to the dentist yesterday": "yesterday=2026-05-05", "I saw her the day before yesterday": "day before yesterday=2026-05-04",
		"We ate out last night": "last night=2026-05-05", "I'm tired today": "today=2026-05-06", "I'll call her tomorrow": "tomorrow=2026-05-07",
		"I moved last week": "last week=week of 2026-04-27", "I moved last month": "last month=2026-04", "I moved last year": "last year=2025",
		"We met last Tuesday": "last Tuesday=2026-05-05", "We met last Wednesday": "last Wednesday=2026-04-29", "We met last Friday": "last Friday=2026-05-01",
		"I fly next Friday": "next Friday=2026-05-15", "I fly this Friday": "this Friday=2026-05-08", "I fly this coming Friday": "coming Friday=2026-05-08",
		"I met Ben on Friday": "Friday=2026-05-01", "I will meet Ben on Friday": "Friday=2026-05-08", "I moved two weeks ago": "two weeks ago=2026-04-22",
		"I moved 3 months ago": "3 months ago=2026-02", "I moved ten years ago": "ten years ago=2016", "I moved a couple of days ago": "a couple of days ago=2026-05-04",
		"I will move in two weeks": "in two weeks=2026-05-20", "I'll be done in 3 months": "in 3 months=2026-08", "over the last two weeks I ran": "last two weeks=2026-04-22 to 2026-05-06",
		"I went hiking last weekend": "last weekend=weekend of 2026-05-02", "I will go hiking this weekend": "this weekend=weekend of 2026-05-09", "We were there the weekend before last": "weekend before last=weekend of 2026-04-25",
		"last summer I learned to surf": "last summer=2025-06 to 2025-08", "I moved last May": "last May=2025-05", "next March we travel": "next March=2027-03",
		"We married last Christmas": "last Christmas=2025-12-25", "I planned it this quarter": "this quarter=2026-04 to 2026-06", "I met him over the weekend": "weekend=weekend of 2026-05-02",
		"We have moved to a house, and I saw Tom on Monday and will see him on Friday": "Monday=2026-05-04|Friday=2026-05-08", "I saw Tom and Ida on Friday": "Friday=2026-05-01",
		"The meeting was postponed to Saturday": "Saturday=2026-05-09", "The meeting was moved to Thursday at 11": "Thursday=2026-05-07", "I booked a table for Friday": "Friday=2026-05-08", "I signed up for a race on Saturday": "Saturday=2026-05-09",
		"I have had a fever since Monday": "Monday=2026-05-04", "Two Mondays ago I fell": "Two Mondays ago=2026-04-27", "I met him on the 15th": "15th=2026-04-15", "I'll meet him on the 15th.": "15th=2026-05-15", "Rent is due on the 1st of every month": "", "I live on the 3rd floor": "", "I will pay on the 31st": "31st=2026-05-31",
		"yesterday’s meeting was long": "yesterday’s=2026-05-05",
		// English, absolute
		"on 3 May 2023 I moved": "3 May 2023=2023-05-03", "I moved on May 3rd, 2023": "May 3rd, 2023=2023-05-03", "I moved on May 3": "May 3=2026-05-03", "The deadline is 3 March": "3 March=2027-03-03",
		"I was born on the 3rd of March 1990": "3rd of March 1990=1990-03-03", "I moved in May 2023": "May 2023=2023-05", "I moved in June": "June=2025-06", "I'll move in June": "June=2026-06",
		"I moved in 2019": "2019=2019", "Since 2019 I live here": "2019=2019", "from 2015 to 2018 I studied": "2015=2015|2018=2018", "in the summer of 2022 we met": "summer of 2022=2022-06 to 2022-08",
		"It was due 2026-03-01.": "2026-03-01=2026-03-01", "We met on 3/14/2025": "3/14/2025=2025-03-14", "We met on 14/3/2025": "14/3/2025=2025-03-14", "2026-05-03T12:00:00Z it failed": "2026-05-03=2026-05-03",
		"We met on Friday, May 1": "Friday, May 1=2026-05-01", "We ship in Q3 2026": "Q3 2026=2026-07 to 2026-09",
		// English, none (hindsight#3250 and its like)
		"port 9077 is open": "", "The port is 2019": "", "It may rain": "", "I march on": "", "I sat down": "", "every Friday I swim": "", "I swim on Fridays": "", "for two weeks I was ill": "",
		"I have 5 years at Google": "", "Version 1.2.2023.4 is out": "", "room 2019": "", "I ran 2000 meters in 2000 steps": "", "Call 10.0.0.1": "", "the second time I had 5 cats": "",
		"Good Friday is a holiday": "", "It takes twice in a week": "", "It cost $2019": "", "I was there 100000 years ago": "", "the last week of the trip was nice": "", "in 9077 nothing": "", "May I go": "", "this may be wrong": "",
		"it took place in 1.5.3": "", "ISBN 978-3-16-148410-0": "",
		// German
		"Ich war gestern beim Arzt": "gestern=2026-05-05", "Vorgestern kam Ben": "Vorgestern=2026-05-04", "Ich habe letzten Dienstag gekündigt": "letzten Dienstag=2026-05-05",
		"Ich fahre nächste Woche nach Rom": "nächste Woche=week of 2026-05-11", "Vor zwei Wochen bin ich umgezogen": "Vor zwei Wochen=2026-04-22", "Seit 2019 wohne ich in Berlin": "2019=2019",
		"Am 3. Mai 2023 bin ich umgezogen": "3. Mai 2023=2023-05-03", "Die Frist ist der 03.05.2027": "03.05.2027=2027-05-03", "Am Morgen trinke ich Tee": "", "Morgen fahre ich nach Rom": "Morgen=2026-05-07",
		"Ich schwimme jeden Freitag": "", "Im März bin ich umgezogen": "März=2026-03", "Letztes Jahr war ich in Rom": "Letztes Jahr=2025",
		// Spanish
		"Ayer fui al médico": "Ayer=2026-05-05", "Me mudé hace dos semanas": "hace dos semanas=2026-04-22", "La semana pasada estuve enfermo": "semana pasada=week of 2026-04-27",
		"El lunes pasado empecé": "lunes pasado=2026-05-04", "El 3 de mayo de 2023 me mudé": "3 de mayo de 2023=2023-05-03", "El próximo viernes viajo": "próximo viernes=2026-05-08", "Trabajo por la mañana": "",
		"El mes que viene me mudo": "mes que viene=2026-06",
		// French
		"Hier j'ai vu Paul": "Hier=2026-05-05", "J'ai déménagé il y a deux semaines": "il y a deux semaines=2026-04-22", "La semaine dernière j'étais malade": "semaine dernière=week of 2026-04-27",
		"L'année dernière nous étions à Rome": "L'année dernière=2025", "Le 3 mai 2023 j'ai déménagé": "3 mai 2023=2023-05-03", "Il y a deux ans, j'ai déménagé": "Il y a deux ans=2024", "Avant-hier il est venu": "Avant-hier=2026-05-04", "Je pars vendredi prochain": "vendredi prochain=2026-05-08",
		// Italian, Portuguese
		"Ieri sono andato dal medico": "Ieri=2026-05-05", "Mi sono trasferito due settimane fa": "due settimane fa=2026-04-22", "La settimana scorsa ero malato": "settimana scorsa=week of 2026-04-27",
		"Ontem fui ao médico": "Ontem=2026-05-05", "Mudei-me há duas semanas": "há duas semanas=2026-04-22", "Na semana passada estive doente": "semana passada=week of 2026-04-27",
		// Russian
		"Вчера я был у врача": "Вчера=2026-05-05", "Я переехал два месяца назад": "два месяца назад=2026-03",
		// Chinese, Japanese, Korean
		"我昨天去看医生了": "昨天=2026-05-05", "我上周二去了上海": "上周二=2026-04-28", "两周前我搬家了": "两周前=2026-04-22", "我下个月去北京": "下个月=2026-06", "我2023年5月3日搬家": "2023年5月3日=2023-05-03",
		"我二〇二三年毕业": "二〇二三年=2023", "去年我在巴黎": "去年=2025", "十万年前有恐龙": "", "三天后我出发": "三天后=2026-05-09", "我上周末爬山了": "上周末=weekend of 2026-05-02", "截止日期是3月5日": "3月5日=2027-03-05",
		"昨日病院に行きました": "昨日=2026-05-05", "先週東京に行きました": "先週=week of 2026-04-27", "어제 병원에 갔어요": "어제=2026-05-05",
		// nothing
		"": "", "Hello": "", "\x00\xff": "",
	} {
		var got []string
		for _, m := range when.Find(text, ref, speech.Language(text), when.Auto) {
			require.True(t, m.From.Before(m.To))
			got = append(got, text[m.Start:m.End]+"="+m.String())
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: got %q, want %q", text, strings.Join(got, "|"), want)
		}
	}
}

// MemOS#2369, mem0#4402: a day is the speaker's, not the server's.
func TestFindInTheSpeakersZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 3, 22, 30, 0, 0, time.UTC)
	for name, want := range map[string]string{"UTC": "2026-05-02", "Europe/Berlin": "2026-05-03", "Asia/Shanghai": "2026-05-03", "America/Los_Angeles": "2026-05-02", "Pacific/Kiritimati": "2026-05-03"} {
		m := when.Find("I moved yesterday", at.In(zone(t, name)), speech.English, when.Auto)
		require.Len(t, m, 1)
		require.Equal(t, want, m[0].String(), name)
		require.Equal(t, want, m[0].At().Format("2006-01-02"))
		require.Equal(t, 24*time.Hour, m[0].To.Sub(m[0].From)) // memanto#1584
	}
}

// A day of 23 hours is still one day.
func TestFindAcrossDaylightSaving(t *testing.T) {
	t.Parallel()
	m := when.Find("I moved yesterday", time.Date(2026, 3, 30, 1, 0, 0, 0, zone(t, "Europe/Berlin")), speech.English, when.Auto)
	require.Len(t, m, 1)
	require.Equal(t, "2026-03-29", m[0].String())
	require.Equal(t, 23*time.Hour, m[0].To.Sub(m[0].From))
}

func TestFindAtTheEdges(t *testing.T) {
	t.Parallel()
	find := func(text string, y int, m time.Month, d int) string {
		var out []string
		for _, x := range when.Find(text, time.Date(y, m, d, 12, 0, 0, 0, time.UTC), speech.Language(text), when.Auto) {
			out = append(out, x.String())
		}
		return strings.Join(out, "|")
	}
	require.Equal(t, "2024-02", find("I moved a month ago", 2024, 3, 31))
	require.Equal(t, "2026-07", find("We're expecting a baby in July.", 2026, 2, 6))
	require.Equal(t, "2026-05-23", find("I signed up for the half marathon on 23 May.", 2026, 4, 7))
	require.Equal(t, "2026-03-31", find("I paid on the 31st.", 2026, 4, 7))
	require.Equal(t, "2026-05-31", find("I will pay on the 31st.", 2026, 4, 7)) // April has none
	require.Equal(t, "2025-12-31", find("I moved yesterday", 2026, 1, 1))
	require.Equal(t, "2025-12", find("I moved last month", 2026, 1, 31))
	require.Equal(t, "week of 2025-12-22", find("I moved last week", 2026, 1, 1))
	require.Equal(t, "2026-12-24", find("I was alone on Christmas Eve", 2027, 1, 2))
	require.Equal(t, "2024-02-29", find("I married on 29 February 2024", 2026, 1, 1))
	require.Equal(t, "2024-02", find("I married on 30 February 2024", 2026, 1, 1)) // no such day
	require.Empty(t, find("I moved yesterday", 1, 1, 1))
	require.Empty(t, find("I moved yesterday", 9999, 1, 1))
	require.Empty(t, find("I moved 200 years ago", 2026, 1, 1))
	require.Equal(t, "weekend of 2026-04-25", find("I hiked last weekend", 2026, 5, 3)) // said on a Sunday
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"yesterday", "in 2 weeks", "十万年前", "9999999999 years ago", "3 May 2023", "上上上周", "May May May 3", "99/99/9999", "last last", "a couple of", "l'année dernière", "\xff昨天", "new year's eve 2022"} {
		f.Add(s, int64(1_777_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		ref := time.Unix(unix%10_000_000_000, 0).UTC()
		for _, lang := range []speech.Lang{speech.Language(text), speech.English, speech.German, speech.Spanish, speech.French, speech.Italian, speech.Portuguese} {
			end := 0
			for _, m := range when.Find(text, ref, lang, when.Auto) {
				require.GreaterOrEqual(t, m.Start, end)
				require.Greater(t, m.End, m.Start)
				require.LessOrEqual(t, m.End, len(text))
				require.True(t, m.From.Before(m.To))
				require.GreaterOrEqual(t, m.From.Year(), 1900)
				require.LessOrEqual(t, m.From.Year(), 2200)
				require.Less(t, len(m.String()), 40)
				end = m.End
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	text := "I moved to Oslo last month with my sister Anna, and on 3 May 2025 we will meet at the harbour because the weather was nice and she may bring her dog."
	ref := time.Date(2026, 5, 6, 9, 0, 0, 0, time.UTC)
	for b.Loop() {
		when.Find(text, ref, speech.English, when.Auto)
	}
}
