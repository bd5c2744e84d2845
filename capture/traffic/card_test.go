package traffic

import (
	"encoding/json"
	"testing"
)

func TestAnOperationOfACard(t *testing.T) {
	extensions := func(s string) string {
		return `{"name":"env1","url":"/agentenv","later":1,"capabilities":{"later":{},"extensions":[` + s + `],"operations":["data/get"]}}`
	}
	const ours = `{"uri":"urn:agentenv:traffic/v1","params":{"endpoint":"/traffic/captures","methods":{"list":{"method":"get"},"get":{"method":"GET","endpoint":"/traffic/capture","request":{}}}}}`
	for _, c := range []struct {
		card, operation string
		want            *Method
	}{
		{extensions(ours), "list", &Method{Method: "GET", Endpoint: "/traffic/captures"}},
		{extensions(ours), "get", &Method{Method: "GET", Endpoint: "/traffic/capture"}},
		{extensions(ours), "drop", nil},
		{extensions(`1,null,"x",[],{},{"uri":1},{"uri":"urn:agentenv:clock/v1"},` + ours), "list", &Method{Method: "GET", Endpoint: "/traffic/captures"}},
		{extensions(`{"uri":"urn:agentenv:traffic/v1","params":{"endpoint":"/x","methods":{"list":{}}}}`), "list", &Method{Method: "POST", Endpoint: "/x"}},
		{extensions(`{"uri":"urn:agentenv:traffic/v1","params":{"endpoint":1,"methods":{"list":{"method":7,"endpoint":null}}}}`), "list", &Method{Method: "POST"}},
		{extensions(`{"uri":"urn:agentenv:traffic/v1","params":{"endpoint":"/x"}}`), "list", nil},
		{extensions(`{"uri":"urn:agentenv:traffic/v1","params":{"methods":{"list":null}}}`), "list", nil},
		{extensions(`{"uri":"urn:agentenv:traffic/v1","params":{"methods":[{"list":{}}]}}`), "list", nil},
		{extensions(`{"uri":"urn:agentenv:traffic/v1","params":[]}`), "list", nil},
		{extensions(`{"uri":"urn:agentenv:traffic/v1","params":null}`), "list", nil},
		{extensions(`{"uri":"urn:agentenv:traffic/v10"}`), "list", nil},
		{`{"capabilities":{"extensions":{}}}`, "list", nil},
		{`{"capabilities":{"extensions":null}}`, "list", nil},
		{`{"capabilities":null}`, "list", nil},
		{`{"capabilities":[]}`, "list", nil},
		{`{}`, "list", nil},
	} {
		card, err := ParseCard([]byte(c.card))
		if err != nil {
			t.Errorf("%s: %v", c.card, err)
			continue
		}
		got := card.Method(URI, c.operation)
		if (got == nil) != (c.want == nil) || got != nil && (got.Method != c.want.Method || got.Endpoint != c.want.Endpoint) {
			t.Errorf("%s of %s is %+v, want %+v", c.operation, c.card, got, c.want)
		}
	}
	for _, bad := range []string{"", "null", "[]", `"x"`, "1", "{", "{}x"} {
		if _, err := ParseCard([]byte(bad)); err == nil {
			t.Errorf("%q is a card", bad)
		}
	}
}

func TestWhatADataPlaneServes(t *testing.T) {
	for card, want := range map[string]bool{
		`{"capabilities":{"operations":["data/reset","data/get"]}}`: true,
		`{"capabilities":{"operations":[1,null,["data/get"]]}}`:     false,
		`{"capabilities":{"operations":[]}}`:                        false,
		`{"capabilities":{"operations":"data/get"}}`:                false,
		`{"capabilities":{}}`:                                       false,
	} {
		c, err := ParseCard([]byte(card))
		if err != nil || c.Serves("data/get") != want {
			t.Errorf("%s: %v", card, err)
		}
	}
}

func TestOurOwnCardReadsBack(t *testing.T) {
	b, err := json.Marshal(map[string]any{"capabilities": map[string]any{"extensions": []Extension{NewExtension()}}})
	if err != nil {
		t.Fatal(err)
	}
	card, err := ParseCard(b)
	if err != nil {
		t.Fatal(err)
	}
	for operation, at := range map[string]string{"list": ListPath, "get": GetPath} {
		if m := card.Method(URI, operation); m == nil || m.Method != "GET" || m.Endpoint != at {
			t.Errorf("%s: %+v", operation, m)
		}
	}
}

func FuzzCard(f *testing.F) {
	f.Add(`{"capabilities":{"extensions":[{"uri":"urn:agentenv:traffic/v1","params":{"methods":{"list":{}}}}],"operations":[]}}`, "/x")
	c, err := NewClient(ClientConfig{Address: "http://env.test:8080/below"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, endpoint string) {
		if card, err := ParseCard([]byte(text)); err == nil {
			card.Method(URI, "list")
			card.Serves("data/get")
		}
		parseListing([]byte(text))
		if u, err := c.url(endpoint); err == nil && (u.Scheme != "http" || u.Host != "env.test:8080" || u.User != nil || len(u.Path) < len("/below/") || u.Path[:7] != "/below/") {
			t.Errorf("%q means %s", endpoint, u)
		}
	})
}
