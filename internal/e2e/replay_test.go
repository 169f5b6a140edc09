package e2e

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/internal/secret"
	"github.com/lightmem/lightmem/internal/temporalio"
	"github.com/lightmem/lightmem/memory"
)

var update = flag.Bool("update", false, "write the histories of this run to testdata")

// historyKey is the master key of the committed histories; they hold nothing
// but this test's sentences.
var historyKey = bytes.Repeat([]byte{7}, secret.MasterBytes)

const histories = "testdata/histories"

// replay replays a history under the workflow id that it had: ids of children
// and fairness keys follow from it.
func replay(t testing.TB, history *historypb.History) error {
	t.Helper()
	master, err := secret.New(historyKey)
	require.NoError(t, err)
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: temporalio.DataConverter(master), FailureConverter: temporalio.FailureConverter(master),
	})
	require.NoError(t, err)
	temporalio.RegisterWorkflows(r)
	started := history.Events[0].GetWorkflowExecutionStartedEventAttributes()
	return r.ReplayWorkflowHistoryWithOptions(nil, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
	})
}

// A change to workflow code that breaks a turn on its way shows here. Files
// are never rewritten for a change of code: a new version gets a new folder.
func TestCommittedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(histories, "*", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(file)
			require.NoError(t, err)
			defer f.Close()
			history, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
			require.NoError(t, err)
			require.NoError(t, replay(t, history))
		})
	}
}

// Each way through a turn, run on the real server and replayed at once.
func TestEveryWayThroughATurnReplays(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{models: true, masterKey: historyKey})
	s.worker()
	who := scope("frida")
	failing := func(c scripted.Call) scripted.Reply { return scripted.Reply{Fault: scripted.Refusing} }
	ways := []struct {
		name   string
		script scripted.Script
		run    func() string
	}{
		{"remember", scripted.Instant, func() string { return s.remember(who, "My cat is called Minka.", time.Time{}).WorkflowID }},
		{"recall-by-rules", scripted.Instant, func() string {
			r := request(who, memory.ModeRecall, "What is my cat called?")
			r.Rules = true
			return s.run(r).WorkflowID
		}},
		{"answer-by-rules", scripted.Instant, func() string {
			r := request(who, memory.ModeAnswer, "What is my cat called? I live in Graz.")
			r.Rules = true
			return s.run(r).WorkflowID
		}},
		{"answer-by-models", scripted.Instant, func() string {
			return s.run(request(who, memory.ModeAnswer, "What is my cat called? I work in Linz.")).WorkflowID
		}},
		{"answer-degraded", failing, func() string {
			return s.run(request(who, memory.ModeAnswer, "What is my cat called? My car is blue.")).WorkflowID
		}},
		{"caller-answers-later", scripted.Instant, func() string {
			r := request(who, memory.ModeCaller, "What is my cat called? My bike is old.")
			reply, err := s.turns.Reply(context.Background(), r)
			require.NoError(t, err)
			_, err = s.turns.GiveAnswer(context.Background(), reply.WorkflowID, "It is called Minka.")
			require.NoError(t, err)
			return s.run(r).WorkflowID
		}},
	}
	for _, way := range ways {
		s.models.Follow(way.script)
		id := way.run()
		history := &historypb.History{}
		events := s.client.GetWorkflowHistory(context.Background(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			history.Events = append(history.Events, event)
		}
		require.NoError(t, replay(t, history), way.name)
		if *update {
			text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(history)
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(filepath.Join(histories, "v1"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(histories, "v1", way.name+".json"), text, 0o644))
		}
	}
}
