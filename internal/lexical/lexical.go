// Package lexical turns text in any language into the terms by which it is
// found: Unicode words, folded, stemmed where the language is known, without
// stop words, and overlapping pairs for scripts that are written without spaces.
package lexical

import "hash/fnv"

// Version names the analysis. It grows whenever Analyze would give other terms
// for the same text, so that stored terms of an older version are not mixed
// with new ones.
const Version int = 1

// Analyze returns the terms of text in order, each hashed to 32 bits. Equal
// terms have equal hashes in every process and on every machine.
func Analyze(text string) []int32 {
	words := Words(text)
	terms := make([]int32, len(words))
	for i, w := range words {
		terms[i] = Hash(w)
	}
	return terms
}

// Hash returns the term of one analysed word: FNV-1a over its bytes.
func Hash(word string) int32 {
	h := fnv.New32a()
	h.Write([]byte(word)) // never fails (hash.Hash docs)
	return int32(h.Sum32())
}
