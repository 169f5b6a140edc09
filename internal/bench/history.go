package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/lightmem/lightmem/internal/temporalio"
	"github.com/lightmem/lightmem/memory"
)

// whereTimeWent cuts a turn that took from began to ended into parts, by the
// times of the events in its history. All processes run on one machine and
// read one clock. It also says how long the history is.
func (in *installation) whereTimeWent(ctx context.Context, r memory.Request, began, ended time.Time) (parts []step, length, size int, err error) {
	var events []*historypb.HistoryEvent
	history := in.client.GetWorkflowHistory(ctx, in.turns.WorkflowID(r), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return nil, 0, 0, fmt.Errorf("read the history of a turn: %w", err)
		}
		events = append(events, event)
		size += proto.Size(event)
	}
	return cut(events, temporalio.DataConverter(in.turns.Master), began, ended), len(events), size, nil
}

// milestone is a moment in a turn; its name says what was done until then.
type milestone struct {
	name string
	at   time.Time
}

// cut turns a history into the parts between its milestones.
func cut(events []*historypb.HistoryEvent, decode converter.DataConverter, began, ended time.Time) []step {
	var marks []milestone
	activity := map[int64]string{}
	tasks := 0
	for _, e := range events {
		at := e.GetEventTime().AsTime()
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			marks = append(marks, milestone{"request reaches the server, workflow made", at})
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
			tasks++
			marks = append(marks, milestone{ordinal(tasks) + " workflow task waits for the worker", at})
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			if name, done := localActivity(e, decode); name != "" {
				marks = append(marks, milestone{"local " + name, done})
			}
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			marks = append(marks, milestone{ordinal(tasks) + " workflow task handed back", at})
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			activity[e.GetEventId()] = e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
			name := activity[e.GetActivityTaskStartedEventAttributes().GetScheduledEventId()]
			marks = append(marks, milestone{"gpu " + name + " waits for the worker", at})
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			name := activity[e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()]
			marks = append(marks, milestone{"gpu " + name + " runs and is handed back", at})
		}
	}
	slices.SortStableFunc(marks, func(a, b milestone) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	var out []step
	last := began
	for _, m := range append(marks, milestone{"reply reaches the caller", ended}) {
		at := m.at
		if at.After(ended) { // the caller had the reply before the server wrote this down
			continue
		}
		if at.Before(last) {
			at = last
		}
		out = append(out, step{m.name, at.Sub(last)})
		last = at
	}
	return out
}

func ordinal(n int) string {
	words := []string{"first", "second", "third", "fourth", "fifth"}
	if n < 1 || n > len(words) {
		return "later"
	}
	return words[n-1]
}

// localActivity returns the name of the local activity that a marker records,
// and when the worker had its result.
func localActivity(e *historypb.HistoryEvent, decode converter.DataConverter) (name string, done time.Time) {
	attributes := e.GetMarkerRecordedEventAttributes()
	var data struct {
		ActivityType string
		ReplayTime   time.Time
	}
	if attributes.GetMarkerName() != "LocalActivity" || decode.FromPayloads(attributes.GetDetails()["data"], &data) != nil {
		return "", time.Time{}
	}
	return data.ActivityType, data.ReplayTime
}
