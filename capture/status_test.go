package capture

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestTheCheckBelievesARecorderThatIsHeardOf(t *testing.T) {
	now := time.Now().UTC()
	for name, c := range map[string]struct {
		s      Status
		locked bool
		ok     bool
	}{
		"running":         {Status{State: StateRunning, UpdatedAt: now}, true, true},
		"starting":        {Status{State: StateStarting, UpdatedAt: now}, true, false},
		"restarting":      {Status{State: StateRestarting, UpdatedAt: now}, true, false},
		"failed":          {Status{State: StateFailed, UpdatedAt: now}, true, false},
		"stopped":         {Status{State: StateStopped, UpdatedAt: now}, false, false},
		"killed":          {Status{State: StateRunning, UpdatedAt: now}, false, false},
		"silent":          {Status{State: StateRunning, UpdatedAt: now.Add(-time.Minute)}, true, false},
		"what is nothing": {Status{}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.locked {
				l, err := lock(dir, "site")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
			}
			c.s.Name = "site"
			if err := c.s.write(dir); err != nil {
				t.Fatal(err)
			}
			got, err := Check(dir, "site")
			if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrNotRunning) {
				t.Errorf("it says %v", err)
			}
			if got != c.s {
				t.Errorf("the status is %+v, want %+v", got, c.s)
			}
		})
	}
}

func TestTheCheckOfWhatIsNotThereFails(t *testing.T) {
	dir := t.TempDir()
	if _, err := Check(dir, "site"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("it says %v", err)
	}
	write(t, dir, "site.status.json", []byte(`{"name": "si`))
	if _, err := Check(dir, "site"); err == nil {
		t.Error("it takes half a status")
	}
}

func TestAStatusThatCannotBeWrittenLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(statusPath(dir, "site"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (&Status{Name: "site"}).write(dir); err == nil {
		t.Error("it was written over a folder")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("there are %v, %v", entries, err)
	}
}
