package devstack

import (
	"context"
	"errors"
)

// ModelDefault is the small model that is served unless told otherwise.
const ModelDefault = "qwen2.5-coder:1.5b"

func (s *site) defaultParts() []Part { return []Part{Postgres, Temporal} }

func (s *site) ensureOpenAI(context.Context, *Stack) error { return errors.New("not built yet") }

func (s *site) ensureOllama(context.Context, *Stack) error { return errors.New("not built yet") }
