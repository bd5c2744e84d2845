package e2e

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentenv/netlog/har"
)

// A harEntry is an entry of a HAR, as far as the tests compare it.
type harEntry struct {
	StartedDateTime string
	Time            float64
	Request         struct {
		Method, URL string
		HTTPVersion string
		Headers     []harField
		Pseudo      []harField `json:"_pseudoHeaders"`
		Cookies     []harField
		PostData    *struct {
			MimeType, Text string
			Base64         []byte `json:"_base64"`
			Params         []struct{ Name, Value, FileName string }
		}
	}
	Response struct {
		Status                int
		StatusText            string
		HTTPVersion           string
		Headers               []harField
		Pseudo                []harField `json:"_pseudoHeaders"`
		Cookies               []harField
		HeadersSize, BodySize int64
		TransferSize          int64 `json:"_transferSize"`
		Content               struct {
			Size     int64
			MimeType string
			Text     *string
			Encoding string
		}
		Error string `json:"_error"`
	}
	Timings         map[string]float64
	ServerIPAddress string
	Connection      string
	ResourceType    string                          `json:"_resourceType"`
	ID              int64                           `json:"_id"`
	Open            bool                            `json:"_open"`
	Failed          *struct{ Phase, Code string }   `json:"_failed"`
	Refused         *struct{ Code string }          `json:"_refused"`
	Tunnel          *struct{ Sent, Received int64 } `json:"_tunnel"`
	Socket          *struct {
		Sent, Received struct{ Messages int64 }
	} `json:"_websocket"`
	Messages []harMessage `json:"_webSocketMessages"`
	GRPC     []harGRPC    `json:"_grpcMessages"`
	Events   []harEvent   `json:"_eventSourceMessages"`
}

// A harField is a header or a cookie.
type harField struct{ Name, Value string }

// valuesOf are the values of every field of a name.
func valuesOf(fields []harField, name string) (values []string) {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return values
}

// A harMessage is one of a WebSocket.
type harMessage struct {
	Type      string
	Time      float64
	Opcode    int
	Data      string
	Truncated bool `json:"_truncated"`
}

// A harGRPC is one of a gRPC call.
type harGRPC struct {
	Type                  string
	Size                  int64
	Data                  string
	Compressed, Truncated bool
}

// A harEvent is one of an event stream.
type harEvent struct {
	Time                     float64
	EventName, EventID, Data string
}

// body is the answer's, decoded.
func (e harEntry) body(t *testing.T) string {
	t.Helper()
	content := e.Response.Content
	if content.Text == nil {
		return ""
	}
	if content.Encoding != "base64" {
		return *content.Text
	}
	b, err := base64.StdEncoding.DecodeString(*content.Text)
	if err != nil {
		t.Fatalf("%s: content.text: %v", e.Request.URL, err)
	}
	return string(b)
}

// posted is the request's body.
func (e harEntry) posted() string {
	p := e.Request.PostData
	if p == nil {
		return ""
	}
	if len(p.Base64) > 0 {
		return string(p.Base64)
	}
	return p.Text
}

// convert makes a HAR of a log with the binary and reads it.
func convert(t *testing.T, log string, args ...string) []harEntry {
	t.Helper()
	return convertTo(t, log, filepath.Join(t.TempDir(), "network.har"), args...)
}

// convertTo is convert with a file that stays.
func convertTo(t *testing.T, log, file string, args ...string) []harEntry {
	t.Helper()
	_, stderr, code := run(t, t.TempDir(), append([]string{"har", log, "-o", file}, args...)...)
	if code != 0 {
		t.Fatalf("har ended with %d: %s", code, stderr)
	}
	return readHAR(t, file)
}

// readHAR reads a HAR and has har-validator look at it, and check when it is ours.
func readHAR(t *testing.T, path string) []harEntry {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Log struct {
			Version string
			Creator struct{ Name string }
			Entries []harEntry
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	validHAR(t, path)
	if file.Log.Creator.Name == "agentenv-netlog" {
		passesCheck(t, path)
	}
	return file.Log.Entries
}

// passesCheck holds a HAR of ours against every rule but those of readers that
// refuse what a browser may send.
func passesCheck(t *testing.T, path string) {
	t.Helper()
	file, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	var readers []string
	for _, reader := range har.Readers() {
		if reader != "k6" && reader != "mitmproxy" {
			readers = append(readers, "--for", reader)
		}
	}
	for _, f := range faults(t, file, readers...) {
		t.Errorf("check: entry %d: %s: %s", f.Entry, f.Rule, f.Text)
	}
}

// validHAR has har-validator look at a HAR. It is passed over where Node or
// the package is missing, but not under NETLOG_E2E=all, except by make tour.
func validHAR(t *testing.T, path string) {
	t.Helper()
	_, err := os.Stat("node_modules/har-validator")
	node, nodeErr := exec.LookPath("node")
	if err != nil || nodeErr != nil {
		if os.Getenv("NETLOG_E2E") == "all" && os.Getenv(tourVariable) == "" {
			t.Error("har-validator is not installed (make e2e-setup)")
		}
		return
	}
	if out, err := exec.Command(node, "har-validator.js", path).CombinedOutput(); err != nil {
		t.Errorf("har-validator: %v\n%.4000s", err, out)
	}
}

// theseHosts are the entries with some hosts, without tunnels.
func theseHosts(all []harEntry, hosts []string) []harEntry {
	var some []harEntry
	for _, e := range all {
		if e.Tunnel == nil && isOf(e.Request.URL, hosts) {
			some = append(some, e)
		}
	}
	return some
}
