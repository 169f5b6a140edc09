package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestPercentileIsAnObservedValue(t *testing.T) {
	t.Parallel()
	took := []time.Duration{5, 1, 4, 2, 3, 6, 7, 8, 9, 10}
	require.Equal(t, time.Duration(5), percentile(took, 0.5))
	require.Equal(t, time.Duration(10), percentile(took, 0.95))
	require.Equal(t, time.Duration(1), percentile(took, 0))
	require.Zero(t, percentile(nil, 0.5))
}

func TestProcessorTimes(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 3.1, statSeconds("42 (a) b) S 1 1 1 0 -1 0 0 0 0 0 100 200 4 6 20 0"), 1e-9)
	require.Zero(t, statSeconds(""))
	require.InDelta(t, 1.11, busySeconds("cpu  100 1 2 5000 600 3 5 0 7 0"), 1e-9)
	require.Positive(t, machineSeconds())

	before := usage{Worker: 1, Temporal: 2, All: 10}
	used := usage{Worker: 2, Temporal: 5, Postgres: 1, All: 20}.since(before, 2*time.Second)
	require.InDelta(t, 0.5, used.Worker, 1e-9)
	require.InDelta(t, 1.5, used.Temporal, 1e-9)
	require.InDelta(t, 2.5, used.Others, 1e-9)
	used.Cores = 2
	require.Contains(t, used.saturated(), "the processors")
	require.Contains(t, usage{Cores: 2, All: 1}.saturated(), "nothing")
}

func TestTheDocumentChangesBetweenItsMarkersOnly(t *testing.T) {
	t.Parallel()
	got, err := between("a\n"+markBegin+"\nold\n"+markEnd+"\nz\n", "new\n")
	require.NoError(t, err)
	require.Equal(t, "a\n"+markBegin+"\n\nnew\n\n"+markEnd+"\nz\n", got)
	for _, bad := range []string{"", markBegin, markEnd + markBegin} {
		_, err := between(bad, "new")
		require.Error(t, err)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"--quick", "--only", "retrieval,throughput", "--window", "1s"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{sectionRetrieval, sectionThroughput}, o.only)
	require.Equal(t, quickSize.users, o.size.users)
	require.Equal(t, time.Second, o.size.window)
	for _, bad := range [][]string{{"--only", "nothing"}, {"more"}, {"--unknown"}} {
		_, err := parse(bad, io.Discard)
		require.Error(t, err)
	}
}

// The parts of a turn add up to the turn, whatever the order of its events.
func TestTheTimeOfATurnIsCutWithoutARest(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(n int) *timestamppb.Timestamp {
		return timestamppb.New(zero.Add(time.Duration(n) * time.Millisecond))
	}
	decode := converter.GetDefaultDataConverter()
	marker, err := decode.ToPayloads(map[string]any{"ActivityType": "Open", "ReplayTime": zero.Add(6 * time.Millisecond)})
	require.NoError(t, err)
	events := []*historypb.HistoryEvent{
		{EventId: 1, EventTime: at(2), EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED},
		{EventId: 2, EventTime: at(2), EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED},
		{EventId: 3, EventTime: at(4), EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED},
		{EventId: 4, EventTime: at(9), EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED},
		{EventId: 5, EventTime: at(9), EventType: enumspb.EVENT_TYPE_MARKER_RECORDED, Attributes: &historypb.HistoryEvent_MarkerRecordedEventAttributes{
			MarkerRecordedEventAttributes: &historypb.MarkerRecordedEventAttributes{MarkerName: "LocalActivity", Details: map[string]*commonpb.Payloads{"data": marker}},
		}},
		{EventId: 6, EventTime: at(9), EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityType: &commonpb.ActivityType{Name: "Plan"}},
		}},
		{EventId: 7, EventTime: at(11), EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
			ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: 6},
		}},
		{EventId: 8, EventTime: at(30), EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: 6},
		}},
	}
	got := cut(events, decode, zero, zero.Add(20*time.Millisecond))
	var names []string
	var sum time.Duration
	for _, s := range got {
		names, sum = append(names, s.name), sum+s.took
	}
	require.Equal(t, 20*time.Millisecond, sum)
	require.Equal(t, []string{
		"request reaches the server, workflow made", "first workflow task waits for the worker", "local Open",
		"first workflow task handed back", "gpu Plan waits for the worker", "reply reaches the caller",
	}, names)
	require.Equal(t, 2*time.Millisecond, got[2].took)
}

func TestResultsReadAsTablesAndAsJSON(t *testing.T) {
	t.Parallel()
	r := results{
		Machine:       machine{Cores: 2, Load: 3},
		Orchestration: []orchestration{{Served: servedByRules, Turn: spread{1, 25, 30}, Direct: spread{1, 4, 5}, Over: 21, Target: 20, Segments: []segment{{"local Open", 1, 1}}, Steps: []segment{{"Open", 0.5, 0.5}}}},
		Retrieval:     []retrieval{{Items: fullMemory, Warm: spread{1, 4, 5}, Recall: 1}},
		Throughput:    []throughput{{Turn: "recall", Served: servedByRules, Users: 8, Rate: 70, Target: 60, Reply: spread{1, 90, 150}}},
	}
	text := r.markdown()
	for _, want := range []string{"≤ 20 ms: **no**", "recall ≥ .99: yes", "≥ 60/s: yes; P95 < 200 ms: yes", "Somebody else used the machine", "mem0 2.2.1", "| local Open"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "%!")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "|") {
			require.True(t, strings.HasSuffix(line, "|"), line)
		}
	}
	_, err := json.Marshal(r)
	require.NoError(t, err)
}

func TestTheVocabularyHasNoWordTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, w := range vocabulary(8_000) {
		require.False(t, seen[w], w)
		seen[w] = true
	}
}
