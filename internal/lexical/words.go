package lexical

import "strings"

// Words returns the analysed words of text, in order.
func Words(text string) []string { return strings.Fields(strings.ToLower(text)) }
