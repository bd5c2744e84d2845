package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
)

func replaceWithLink(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.DevNull, path); err != nil {
		t.Fatal(err)
	}
}

func TestTheHARIsThatOfTheLog(t *testing.T) {
	w := newWorld(t, "")
	for _, method := range []string{"GET", "HEAD"} {
		if answer, _ := w.call(method, "/network.har", ""); answer.StatusCode != 404 {
			t.Errorf("%s, and there is no log: %d", method, answer.StatusCode)
		}
	}
	w.write(w.log, lines(1, 500, 0))
	log, err := netlog.OpenLog(w.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var want bytes.Buffer
	if _, err := har.Convert(log, &want, har.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		asked string
		zips  bool
	}{{"identity", false}, {"gzip", true}, {"gzip;q=0", false}, {"br, gzip;q=0.5", true}, {"zstd, gzip", true}} {
		answer, b := w.call("GET", "/network.har", "", "Accept-Encoding", c.asked)
		if zips := answer.Header.Get("Content-Encoding") == "gzip"; zips != c.zips {
			t.Errorf("Accept-Encoding %s: zipped %v", c.asked, zips)
			continue
		} else if zips {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err == nil {
				b, err = io.ReadAll(z)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if answer.StatusCode != 200 || !bytes.Equal(b, want.Bytes()) || answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %s: %d, %d bytes, %q", c.asked, answer.StatusCode, len(b), answer.Header)
		}
		if answer.Header.Get("Content-Type") != "application/json" || answer.Header.Get("Content-Disposition") != `attachment; filename="network.har"` {
			t.Errorf("%q", answer.Header)
		}
	}
	if answer, b := w.call("HEAD", "/network.har", ""); answer.StatusCode != 200 || len(b) > 0 {
		t.Errorf("HEAD: %d, %d bytes", answer.StatusCode, len(b))
	}
	w.fails(400, "invalid_params", "GET", "/network.har?form=x", "")
}

func TestTheHARForAReader(t *testing.T) {
	w := newWorld(t, "")
	w.write(w.log, lines(1, 5, 0)) // tunnels, which har-to-k6 has no use for
	entries := func(query string) int {
		t.Helper()
		_, b := w.call("GET", "/network.har"+query, "")
		var h struct{ Log struct{ Entries []any } }
		if err := json.Unmarshal(b, &h); err != nil {
			t.Fatal(err)
		}
		return len(h.Log.Entries)
	}
	if all, none := entries("?for="), entries("?for=k6"); all != 4 || none != 0 || entries("") != all {
		t.Errorf("%d entries, for k6 %d", all, none)
	}
	for _, query := range []string{"?for=nobody", "?for=K6", "?for=k6&for=k6", "?for=k6&x"} {
		w.fails(400, "invalid_params", "GET", "/network.har"+query, "")
	}
}

func TestTheCard(t *testing.T) {
	w := newWorld(t, token)
	answer, b := w.call("GET", "/.well-known/agent-env.json", "")
	var indented bytes.Buffer
	if err := json.Indent(&indented, b, "", "\t"); err != nil || answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s: %v", answer.StatusCode, b, err)
	}
	indented.WriteByte('\n')
	golden(t, "testdata/card.json", indented.Bytes())
	w.fails(405, "method_not_allowed", "POST", "/.well-known/agent-env.json", "")
	for _, path := range []string{"/", "/.well-known/agent-env.json/", "/agentenv/", "/agentenv/ext/browser", "/traffic", "/Network.har", "//agentenv", "/x/../agentenv"} {
		w.fails(404, "not_found", "GET", path, "")
	}
}

func TestACardHasOnlyWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		config     Config
		extensions []string
		operations int
	}{
		{Config{}, nil, 0},
		{Config{Captures: "x"}, []string{"urn:agentenv:traffic/v1"}, 0},
		{Config{Log: "x"}, []string{"urn:agentenv:browser/v1"}, 3},
	} {
		got := newCard(c.config)
		var uris []string
		for _, e := range got.Capabilities.Extensions {
			uris = append(uris, e.URI)
		}
		if len(uris) != len(c.extensions) || len(uris) > 0 && uris[0] != c.extensions[0] || len(got.Capabilities.Operations) != c.operations {
			t.Errorf("%+v: %q, %q", c.config, uris, got.Capabilities.Operations)
		}
	}
}
