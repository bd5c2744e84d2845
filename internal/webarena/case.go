package webarena

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// A Case is a task that a trace does right by, and the same with expectations
// that are wrong of it.
type Case struct {
	Task
	Wrong []Task
}

// LoadCases reads a JSON array of tasks, each with the list "wrong": members of
// "expected" in place of its own.
func LoadCases(file []byte) ([]Case, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(file, &raw); err != nil {
		return nil, fmt.Errorf("reading tasks: %w", err)
	}
	var cases []Case
	for i, b := range raw {
		var c Case
		var in struct{ Wrong []map[string]any }
		if err := json.Unmarshal(b, &c.Task); err != nil {
			return nil, fmt.Errorf("reading task %d: %w", i+1, err)
		}
		if err := json.Unmarshal(b, &in); err != nil {
			return nil, fmt.Errorf("reading task %d: %w", i+1, err)
		}
		for _, patch := range in.Wrong {
			task, err := patched(b, patch)
			if err != nil {
				return nil, fmt.Errorf("reading task %d: %w", i+1, err)
			}
			c.Wrong = append(c.Wrong, task)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// patched reads a task with other members of what it expects.
func patched(b []byte, patch map[string]any) (t Task, err error) {
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return t, err
	}
	expected, _ := m["expected"].(map[string]any)
	if expected == nil {
		return t, errors.New("it expects nothing")
	}
	maps.Copy(expected, patch)
	if b, err = json.Marshal(m); err != nil {
		return t, err
	}
	return t, json.Unmarshal(b, &t)
}
