package capture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The states of a recorder.
const (
	StateStarting   = "starting"
	StateRunning    = "running"    // tcpdump listens
	StateRestarting = "restarting" // tcpdump has ended and is started again
	StateStopped    = "stopped"
	StateFailed     = "failed" // it could not be started
)

// A Status is what NAME.status.json holds of a recorder.
type Status struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Error string `json:"error,omitempty"` // why tcpdump ended last

	StartedAt time.Time `json:"started_at"` // of the recorder, UTC
	UpdatedAt time.Time `json:"updated_at"` // UTC: when tcpdump was last heard of
	Restarts  int       `json:"restarts"`   // how often tcpdump was started again
	PID       int       `json:"pid,omitempty"`

	// Since StartedAt, as tcpdump counts them. What a tcpdump that was killed had
	// counted since it was last asked is missing.
	Captured           int64 `json:"captured"` // packets written
	Received           int64 `json:"received"` // those, the dropped ones, and what is yet to be written
	Dropped            int64 `json:"dropped"`  // lost for want of room in the kernel's buffer
	DroppedByInterface int64 `json:"dropped_by_interface"`
}

func statusPath(dir, name string) string { return filepath.Join(dir, name+".status.json") }

// write replaces the file, so that whoever reads it has one whole state.
func (s *Status) write(dir string) (err error) {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".status-*.tmp")
	if err != nil {
		return bare(err)
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), statusPath(dir, s.Name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return bare(err)
}

// ReadStatus reads what the recorder of that name last said.
func ReadStatus(dir, name string) (Status, error) {
	path := statusPath(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return Status{}, fmt.Errorf("read %q: %w", path, bare(err))
	}
	var s Status
	if err := json.Unmarshal(b, &s); err != nil {
		return Status{}, fmt.Errorf("read %q: %w", path, err)
	}
	return s, nil
}

// ErrNotRunning says that nothing is being captured under a name.
var ErrNotRunning = errors.New("no capture is running")

// silence is after what time a recorder of which nothing is heard is not believed
// to be running.
const silence = 15 * time.Second

// Check returns the status of a recorder that is running, or ErrNotRunning with
// the reason.
func Check(dir, name string) (Status, error) {
	s, err := ReadStatus(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, fmt.Errorf("%q in %q: %w", name, dir, ErrNotRunning)
	case err != nil:
		return s, err
	case s.State != StateRunning:
		return s, fmt.Errorf("%q in %q: %w: it is %s%s", name, dir, ErrNotRunning, s.State, because(s.Error))
	case !isLocked(dir, name):
		return s, fmt.Errorf("%q in %q: %w: it was killed", name, dir, ErrNotRunning)
	}
	if age := time.Since(s.UpdatedAt); age > silence {
		return s, fmt.Errorf("%q in %q: %w: nothing was heard of it for %v", name, dir, ErrNotRunning, age.Round(time.Second))
	}
	return s, nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
