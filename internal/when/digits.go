package when

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var numeric = regexp.MustCompile(`(\d{4})([-/.])(\d{1,2})([-/.])(\d{1,2})|(\d{1,2})([./-])(\d{1,2})([./-])(\d{4})`)

// scanNumeric finds dates in digits: 2026-05-03, 3.5.2026, 5/3/2026.
func (f *finder) scanNumeric() {
	if !strings.ContainsAny(f.text, "-/.") || !strings.ContainsAny(f.text, "0123456789") {
		return
	}
	for _, m := range numeric.FindAllStringSubmatchIndex(f.text, maxMentions) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return f.text[m[2*i]:m[2*i+1]]
		}
		if !f.alone(m[0], m[1]) || group(2) != group(4) || group(7) != group(9) {
			continue
		}
		var y, a, b int
		if group(1) != "" {
			y, a, b = atoi(group(1)), atoi(group(3)), atoi(group(5))
		} else {
			y, a, b = atoi(group(10)), atoi(group(8)), atoi(group(6)) // day first
			if group(7) == "/" && (a > 12 || b <= 12 && f.g.monthFirst) {
				a, b = b, a
			}
		}
		if from, ok := date(y, time.Month(a), b, f.today.Location()); ok {
			f.add(m[0], m[1], from, addDays(from, 1), Day)
		}
	}
}

// alone reports whether text[start:end] is no part of a longer number, name,
// version or address.
func (f *finder) alone(start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(f.text[:start])
	after, size := utf8.DecodeRuneInString(f.text[end:])
	if start > 0 && (unicode.IsDigit(before) || unicode.IsLetter(before) && before < 0x2E80 || strings.ContainsRune("-/._", before)) {
		return false
	}
	if end == len(f.text) || after == 'T' {
		return true
	}
	if unicode.IsDigit(after) || unicode.IsLetter(after) && after < 0x2E80 || strings.ContainsRune("-/_", after) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(f.text[end+size:])
	return after != '.' || !unicode.IsDigit(next)
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// hasCJK reports whether a text has Chinese, Japanese or Korean characters.
func hasCJK(text string) bool {
	for _, r := range text {
		if r >= 0x2E80 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7AF {
			return true
		}
	}
	return false
}

const han = `[0-9０-９〇零一二两兩三四五六七八九十百千万萬亿億]+`

var cjk = regexp.MustCompile(
	`(大前天|前天|昨天|昨晚|昨夜|今天|今晚|今早|今晨|明天|明早|明晚|大后天|大後天|后天|後天|一昨日|昨日|今日|明日|明後日|그저께|어제|오늘|내일|모레)` +
		`|(上上|下下|上|下|这|這|本|先|今|来|지난|이번|다음) ?(?:个|個)?(周|週|星期|礼拜|禮拜|月|주|달)([一二三四五六日天末]?)` +
		`|(去年|今年|明年|前年|后年|後年|昨年|来年|작년|올해|내년)` +
		`|(` + han + `) ?(?:个|個|ヶ|か|カ)? ?(天|日|周|週間|週|星期|礼拜|禮拜|月|年|일|주|개월|년)(?:间|間)?(?:之|以)? ?(前|后|後|전|후)` +
		`|([0-9０-９]{4}|[〇零一二三四五六七八九]{4}) ?年(?: ?(` + han + `) ?月(?: ?(` + han + `) ?[日号號])?)?` +
		`|(` + han + `) ?月 ?(?:(` + han + `) ?[日号號]|份)`)

var cjkDays = map[string]int{
	"大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "昨夜": -1, "今天": 0, "今晚": 0, "今早": 0, "今晨": 0, "明天": 1, "明早": 1, "明晚": 1, "后天": 2, "後天": 2, "大后天": 3, "大後天": 3,
	"一昨日": -2, "昨日": -1, "今日": 0, "明日": 1, "明後日": 2, "그저께": -2, "어제": -1, "오늘": 0, "내일": 1, "모레": 2,
}

var cjkYears = map[string]int{"去年": -1, "今年": 0, "明年": 1, "前年": -2, "后年": 2, "後年": 2, "昨年": -1, "来年": 1, "작년": -1, "올해": 0, "내년": 1}

var cjkShift = map[string]int{"上上": -2, "下下": 2, "上": -1, "下": 1, "这": 0, "這": 0, "本": 0, "先": -1, "今": 0, "来": 1, "지난": -1, "이번": 0, "다음": 1}

var cjkUnit = map[string]unit{"天": uDay, "日": uDay, "일": uDay, "周": uWeek, "週": uWeek, "週間": uWeek, "星期": uWeek, "礼拜": uWeek, "禮拜": uWeek, "주": uWeek, "月": uMonth, "달": uMonth, "개월": uMonth, "年": uYear, "년": uYear}

// scanCJK finds Chinese, Japanese and Korean times.
func (f *finder) scanCJK() {
	for _, m := range cjk.FindAllStringSubmatchIndex(f.text, maxMentions) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return f.text[m[2*i]:m[2*i+1]]
		}
		f.cjkMention(m[0], m[1], group)
	}
}

func (f *finder) cjkMention(start, end int, group func(int) string) {
	loc := f.today.Location()
	relative := func(from, to time.Time, g Grain) {
		if m := f.add(start, end, from, to, g); m != nil {
			m.Relative = true
		}
	}
	switch {
	case group(1) != "":
		from := addDays(f.today, cjkDays[group(1)])
		relative(from, addDays(from, 1), Day)
	case group(2) != "":
		u, n := cjkUnit[group(3)], cjkShift[group(2)]
		if (group(2) == "先" || group(2) == "今" || group(2) == "来") && u == uMonth && group(4) != "" {
			return
		}
		from, to, g := f.shifted(u, n)
		if u == uWeek && group(4) == "末" {
			from, to, g = f.shifted(uWeekend, n)
		} else if at := strings.Index("一二三四五六日", strings.ReplaceAll(group(4), "天", "日")); group(4) != "" && at >= 0 && u == uWeek {
			from = addDays(from, at/3)
			to, g = addDays(from, 1), Day
		}
		if !from.IsZero() {
			relative(from, to, g)
		}
	case group(5) != "":
		from := firstOfYear(f.today.Year()+cjkYears[group(5)], loc)
		relative(from, firstOfYear(from.Year()+1, loc), Year)
	case group(6) != "":
		n, ok := hanNumber(group(6))
		if !ok || n == 0 || n > 3660 {
			return // hindsight#3413: 十万年前
		}
		if d := group(8); d == "前" || d == "전" {
			n = -n
		}
		if from, to, g, ok := f.moved(cjkUnit[group(7)], n); ok {
			relative(from, to, g)
		}
	case group(9) != "":
		f.cjkDate(start, end, group(9), group(10), group(11))
	case group(12) != "":
		mo, ok := hanNumber(group(12))
		if !ok || mo < 1 || mo > 12 {
			return
		}
		d, ok := hanNumber(group(13))
		if group(13) == "" {
			d = 1
		} else if !ok {
			return
		}
		lean := f.leaning()
		from, ok := f.yearless(time.Month(mo), d, lean)
		if !ok {
			return
		}
		to, g := addDays(from, 1), Day
		if group(13) == "" {
			to, g = firstOfMonth(from, 1), Month
		}
		if m := f.add(start, end, from, to, g); m != nil {
			m.Yearless, m.Guessed = true, lean == Auto
		}
	}
}

func (f *finder) cjkDate(start, end int, year, month, day string) {
	y, ok := hanNumber(year)
	if !ok {
		return
	}
	loc := f.today.Location()
	if month == "" {
		from := firstOfYear(y, loc)
		f.add(start, end, from, firstOfYear(y+1, loc), Year)
		return
	}
	mo, ok := hanNumber(month)
	if !ok || mo < 1 || mo > 12 {
		return
	}
	if day == "" {
		from := time.Date(y, time.Month(mo), 1, 0, 0, 0, 0, loc)
		f.add(start, end, from, firstOfMonth(from, 1), Month)
		return
	}
	if d, ok := hanNumber(day); ok {
		if from, ok := date(y, time.Month(mo), d, loc); ok {
			f.add(start, end, from, addDays(from, 1), Day)
		}
	}
}

// hanNumber reads a number in digits of either kind; false when it is no number
// or too large to be of use.
func hanNumber(s string) (int, bool) {
	const limit = 1_000_000_000
	total, section, digit, digits := 0, 0, 0, 0
	for _, r := range s {
		d := -1
		switch {
		case r >= '0' && r <= '9':
			d = int(r - '0')
		case r >= '０' && r <= '９':
			d = int(r - '０')
		case r == '〇' || r == '零':
			d = 0
		case r == '两' || r == '兩':
			d = 2
		default:
			if i := strings.IndexRune("一二三四五六七八九", r); i >= 0 {
				d = i/3 + 1
			}
		}
		if d >= 0 {
			digit = digit*10 + d
			if digits++; digits > 9 {
				return 0, false
			}
			continue
		}
		scale := map[rune]int{'十': 10, '百': 100, '千': 1000, '万': 10_000, '萬': 10_000, '亿': 100_000_000, '億': 100_000_000}[r]
		if scale == 0 {
			return 0, false
		}
		if digits == 0 && (scale < 10_000 || section == 0) {
			digit = 1
		}
		if scale >= 10_000 {
			total = (total + section + digit) * scale
			section = 0
		} else {
			section += digit * scale
		}
		if digit, digits = 0, 0; total > limit || section > limit {
			return 0, false
		}
	}
	n := total + section + digit
	return n, s != "" && n <= limit
}
