// Package memory is LightMem's domain: the words in which a turn, a memory
// and a change to memory are spoken of. It imports the standard library only,
// holds no I/O, and every other package may depend on it; it depends on none.
//
// A turn passes through stages, and each stage's result contains the one
// before it, so that a wrong order does not compile:
//
//	Request → Turn → Planned → Retrieved → Selected → Answered → Drafted → Receipt
//
// The design follows "Lightweight LLM Agent Memory with Small Language Models"
// (arXiv 2604.07798v3); section numbers in comments refer to it.
package memory
