package scripted

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/lightmem/lightmem/prompts"
)

// Server speaks the APIs of Ollama and of OpenAI as far as the adapters use
// them, and answers by its script. It is an http.Handler. The zero value
// answers with Instant.
type Server struct {
	// Context is the context length that it claims; 4096 when zero.
	Context int
	// NoLogprobs makes it a server that knows no log-probabilities.
	NoLogprobs bool
	// NoSystem makes it claim a model whose template drops system messages.
	NoSystem bool

	mu       sync.Mutex
	script   Script
	received []Received
}

// Received is one request as it came over the wire.
type Received struct {
	Path   string
	Header http.Header
	Body   json.RawMessage
}

// Follow changes the script.
func (s *Server) Follow(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Received returns the requests so far, without those to /api/show.
func (s *Server) Received() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.received...)
}

// wire is what the two APIs' requests have, in the fields that matter here.
type wire struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    prompts.Role `json:"role"`
		Content string       `json:"content"`
	} `json:"messages"`
	Stream  *bool           `json:"stream"`
	Format  json.RawMessage `json:"format"`
	Options struct {
		NumPredict int `json:"num_predict"`
	} `json:"options"`
	Logprobs       bool            `json:"logprobs"`
	TopLogprobs    int             `json:"top_logprobs"`
	MaxTokens      int             `json:"max_tokens"`
	MaxCompletion  int             `json:"max_completion_tokens"`
	Input          json.RawMessage `json:"input"`
	ResponseFormat struct {
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var raw json.RawMessage
	var in wire
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20)).Decode(&raw); err != nil || json.Unmarshal(raw, &in) != nil {
		http.Error(w, `{"error":"bad request"}`, http.StatusBadRequest)
		return
	}
	if r.URL.Path == "/api/show" {
		s.show(w, r, in)
		return
	}
	s.mu.Lock()
	s.received = append(s.received, Received{Path: r.URL.Path, Header: r.Header.Clone(), Body: raw})
	s.mu.Unlock()

	call := Call{Model: in.Model, Request: prompts.Request{
		Schema: in.Format, MaxTokens: max(in.Options.NumPredict, in.MaxTokens, in.MaxCompletion), TopLogprobs: in.TopLogprobs,
	}}
	if len(call.Request.Schema) == 0 {
		call.Request.Schema = in.ResponseFormat.JSONSchema.Schema
	}
	if s.NoLogprobs {
		call.Request.TopLogprobs = 0
	}
	for _, m := range in.Messages {
		call.Request.Messages = append(call.Request.Messages, prompts.Message{Role: m.Role, Text: m.Content})
	}
	ollama := strings.HasPrefix(r.URL.Path, "/api/")
	switch r.URL.Path {
	case "/api/embed", "/v1/embeddings":
		if json.Unmarshal(in.Input, &call.Texts) != nil {
			http.Error(w, `{"error":"input is no list of texts"}`, http.StatusBadRequest)
			return
		}
		reply := s.follow(call)
		if !fail(w, r, reply.Fault, ollama) {
			return
		}
		embedded(w, ollama, in.Model, vectors(call.Texts, reply))
	case "/api/chat", "/v1/chat/completions":
		reply := s.follow(call)
		if words(call) > s.context() {
			reply.Fault = TooLong
		}
		if !fail(w, r, reply.Fault, ollama) {
			return
		}
		stream := in.Stream != nil && *in.Stream || ollama && in.Stream == nil
		chatted(w, ollama, stream, in.Model, respond(call, reply), reply.Fault == BrokenOff)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) follow(c Call) Reply {
	s.mu.Lock()
	script := s.script
	s.mu.Unlock()
	if script == nil {
		script = Instant
	}
	return script(c)
}

func (s *Server) show(w http.ResponseWriter, r *http.Request, in wire) {
	reply := s.follow(Call{Model: in.Model})
	switch reply.Fault { // those of the whole server
	case Down, Slow, Missing, Unauthorized:
		fail(w, r, reply.Fault, true)
		return
	}
	template := "{{ .System }} {{ .Prompt }}"
	if s.NoSystem {
		template = "{{ .Prompt }}"
	}
	write(w, map[string]any{
		"template":     template,
		"model_info":   map[string]any{"general.architecture": "scripted", "scripted.context_length": s.context()},
		"capabilities": []string{"completion"},
	})
}

func (s *Server) context() int {
	if s.Context > 0 {
		return s.Context
	}
	return 4096
}

// words counts the prompt's words, a token each.
func words(c Call) int {
	n := 0
	for _, m := range c.Request.Messages {
		n += len(strings.Fields(m.Text))
	}
	return n
}

// fail acts out the faults that are no replies, and reports whether there is a
// reply to send.
func fail(w http.ResponseWriter, r *http.Request, f Fault, ollama bool) bool {
	say := func(status int, kind, message string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		var body any = map[string]any{"error": map[string]any{"message": message, "type": kind, "code": kind}}
		if ollama {
			body = map[string]any{"error": message}
		}
		write(w, body)
	}
	switch f {
	case Down:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close() // that is the fault
		}
	case Slow:
		<-r.Context().Done()
	case Nonsense:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>It works!</html>\n")) // nobody listens on failure
	case Busy:
		w.Header().Set("Retry-After", strconv.Itoa(int(BusyWait.Seconds())))
		say(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down")
	case Failing:
		say(http.StatusInternalServerError, "server_error", "llama runner process has terminated")
	case Missing:
		say(http.StatusNotFound, "model_not_found", "model 'm' not found")
	case Unauthorized:
		say(http.StatusUnauthorized, "invalid_api_key", "incorrect API key provided")
	case TooLong:
		say(http.StatusBadRequest, "context_length_exceeded", "the input length exceeds the context length")
	case Refusing:
		if !ollama {
			return true // a finish reason
		}
		say(http.StatusBadRequest, "content_policy", "declined by the content policy")
	default:
		return true
	}
	return false
}

func write(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v) // nobody listens on failure
}

func embedded(w http.ResponseWriter, ollama bool, model string, vectors [][]float32) {
	if ollama {
		write(w, map[string]any{"model": model, "embeddings": vectors, "prompt_eval_count": len(vectors)})
		return
	}
	data := make([]any, len(vectors))
	for i, v := range vectors {
		data[len(vectors)-1-i] = map[string]any{"object": "embedding", "index": i, "embedding": v} // any order is allowed
	}
	write(w, map[string]any{"object": "list", "model": model, "data": data, "usage": map[string]int{"prompt_tokens": len(vectors), "total_tokens": len(vectors)}})
}

// chatted sends a chat's reply, whole or in pieces, and stops in the middle
// when it is to break off.
func chatted(w http.ResponseWriter, ollama, stream bool, model string, r prompts.Response, breakOff bool) {
	texts := []string{r.Text}
	if stream {
		texts = pieces(r.Text)
	}
	if breakOff {
		texts = pieces(r.Text + " and then the line went dead")
		texts = texts[:len(texts)/2]
	}
	flush := http.NewResponseController(w)
	switch {
	case ollama:
		w.Header().Set("Content-Type", "application/x-ndjson")
		for i, t := range texts {
			part := map[string]any{"model": model, "message": map[string]any{"role": "assistant", "content": t}, "done": false}
			if i == 0 && len(r.Tokens) > 0 {
				part["logprobs"] = tokens(r.Tokens)
			}
			if !stream && !breakOff {
				finishOllama(part, r)
			}
			write(w, part)
			_ = flush.Flush() // best effort
		}
		if breakOff {
			panic(http.ErrAbortHandler)
		}
		if stream || len(texts) == 0 {
			part := map[string]any{"model": model, "message": map[string]any{"role": "assistant", "content": ""}}
			finishOllama(part, r)
			write(w, part)
		}
	case breakOff && !stream:
		_, _ = w.Write([]byte(`{"object":"chat.completion","choices":[{"message":{"content":"and then`)) // nobody listens on failure
		_ = flush.Flush()
		panic(http.ErrAbortHandler)
	case stream:
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(v any) {
			b, err := json.Marshal(v)
			if err != nil {
				return
			}
			_, _ = w.Write([]byte("data: " + string(b) + "\n\n")) // nobody listens on failure
			_ = flush.Flush()
		}
		for _, t := range texts {
			event(map[string]any{"model": model, "choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": t}}}})
		}
		if breakOff {
			panic(http.ErrAbortHandler)
		}
		event(map[string]any{"model": model, "choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finishOpenAI(r.Finish)}}})
		event(map[string]any{"model": model, "choices": []any{}, "usage": usage(r)})
		_, _ = w.Write([]byte("data: [DONE]\n\n")) // nobody listens on failure
	default:
		choice := map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": r.Text}, "finish_reason": finishOpenAI(r.Finish)}
		if len(r.Tokens) > 0 {
			choice["logprobs"] = map[string]any{"content": tokens(r.Tokens)}
		}
		write(w, map[string]any{"object": "chat.completion", "model": model, "choices": []any{choice}, "usage": usage(r)})
	}
}

func finishOllama(part map[string]any, r prompts.Response) {
	part["done"], part["done_reason"] = true, r.Finish
	part["prompt_eval_count"], part["eval_count"] = r.Usage.InputTokens, r.Usage.OutputTokens
}

func finishOpenAI(f prompts.Finish) string {
	if f == prompts.FinishRefused {
		return "content_filter"
	}
	return string(f)
}

func usage(r prompts.Response) map[string]int {
	return map[string]int{"prompt_tokens": r.Usage.InputTokens, "completion_tokens": r.Usage.OutputTokens, "total_tokens": r.Usage.InputTokens + r.Usage.OutputTokens}
}

// tokens are log-probabilities as both APIs write them.
func tokens(in []prompts.Token) []any {
	out := make([]any, len(in))
	for i, t := range in {
		top := make([]any, len(t.Top))
		for k, a := range t.Top {
			top[k] = map[string]any{"token": a.Text, "logprob": a.Logprob}
		}
		out[i] = map[string]any{"token": t.Text, "logprob": t.Logprob, "top_logprobs": top}
	}
	return out
}
