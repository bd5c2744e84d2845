package webarena

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// har is a HAR of entries, each of which is a request line, header lines and,
// behind " -> ", a status.
func har(entries ...string) []byte {
	type field struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	var list []map[string]any
	for _, entry := range entries {
		request, answer, _ := strings.Cut(entry, " -> ")
		lines := strings.Split(request, "\n")
		method, url, _ := strings.Cut(lines[0], " ")
		headers := []field{}
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			headers = append(headers, field{name, value})
		}
		var status int
		fmt.Sscan(answer, &status)
		list = append(list, map[string]any{
			"request":  map[string]any{"method": method, "url": url, "headers": headers},
			"response": map[string]any{"status": status, "content": map[string]any{"mimeType": "x-unknown"}},
		})
	}
	b, err := json.Marshal(map[string]any{"log": map[string]any{"entries": list}})
	if err != nil {
		panic(err)
	}
	return b
}

func grade(t *testing.T, file []byte, task Task) (Verdict, error) {
	t.Helper()
	trace, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return trace.Grade(task, map[string]string{"SHOP": "http://shop.test:8080"})
}

func TestURLs(t *testing.T) {
	tests := []struct {
		actual, expected string
		query            map[string][]string
		rules            Evaluator
		want             bool
	}{
		{actual: "http://shop.test:8080/cart", expected: "__SHOP__/cart", want: true},
		{actual: "http://shop.test:8080/cart/", expected: "__SHOP__/cart", want: true},
		{actual: "http://SHOP.test:8080/CART", expected: "__SHOP__/cart", want: true},
		{actual: "http://shop.test:8080/a/../cart//x", expected: "__SHOP__/cart/x", want: true},
		{actual: "http://shop.test:8080/a%2Fb", expected: "__SHOP__/a/b", want: true},
		{actual: "https://shop.test:8080/cart", expected: "__SHOP__/cart", want: false},
		{actual: "http://shop.test/cart", expected: "__SHOP__/cart", want: false},
		{actual: "http://127.0.0.1:8080/cart", expected: "__SHOP__/cart", want: false},
		{actual: "http://shop.test:8080/cart#top", expected: "__SHOP__/cart", want: false},
		{actual: "http://other.test:80/x", expected: "http://other.test/x", want: true},
		{actual: "http://u:p@other.test/x", expected: "http://other.test/x", want: false},
		{actual: "http://shop.test:8080/item/7", expected: `^__SHOP__/item/\d+$`, want: true},
		{actual: "http://shop.test:8080/item/x", expected: `^__SHOP__/item/\d+$`, want: false},
		{actual: "http://anything/dummy_bin", expected: "^http://.*/dummy_bin$", want: true},

		{actual: "http://shop.test:8080/s?q=a+b&x", expected: "__SHOP__/s?q=A%20b&x=", want: true},
		{actual: "http://shop.test:8080/s?sort[by]=new", expected: "__SHOP__/s", query: map[string][]string{"sort[by]": {"new"}}, want: true},
		{actual: "http://shop.test:8080/s?sort%5Bby%5D=new", expected: "__SHOP__/s?sort[by]=new", want: true},
		{actual: "http://shop.test:8080/s?q=1&more=2", expected: "__SHOP__/s?q=1", want: false},
		{actual: "http://shop.test:8080/s?q=1&More_2=2", expected: "__SHOP__/s?q=1", rules: Evaluator{IgnoredQueryPatterns: []string{"^more"}}, want: true},
		{actual: "http://shop.test:8080/s?q=1&more=2", expected: "__SHOP__/s?q=1", rules: Evaluator{IgnoredQueryParams: []string{"more"}}, want: true},
		{actual: "http://shop.test:8080/s", expected: "__SHOP__/s", query: map[string][]string{"state": {"^(opened|)$"}}, want: true},
		{actual: "http://shop.test:8080/s?tag=b&tag=a", expected: "__SHOP__/s?tag=a", want: true}, // the lowest alone
		{actual: "http://shop.test:8080/f/cmVwb3J0PTEmeD0y/", expected: "__SHOP__/f?report=1&x=2", rules: Evaluator{DecodeBase64Query: true}, want: true},
		{actual: "http://shop.test:8080/f/cmVwb3J0PTEmeD0y/", expected: "__SHOP__/f?report=1&x=2", want: false},
	}
	for _, test := range tests {
		task := Task{Evaluator: test.rules, Expected: Expected{URL: test.expected, QueryParams: test.query}}
		verdict, err := grade(t, har("GET "+test.actual+" -> 200"), task)
		if err != nil || verdict.Success != test.want {
			t.Errorf("%s for %s %v: %+v, %v", test.actual, test.expected, test.query, verdict, err)
		}
	}
}

func TestEvents(t *testing.T) {
	const nav = "\nAccept: text/html,*/*"
	const user = "\nSec-Fetch-User: ?1\nSec-Fetch-Dest: document\nSec-Fetch-Mode: navigate"
	found := 404
	absent := -1
	tests := []struct {
		name    string
		entries []string
		task    Task
		want    bool
	}{
		{"the last one decides", []string{"GET http://shop.test:8080/x -> 200", "GET http://shop.test:8080/x -> 500"}, Task{Expected: Expected{URL: "__SHOP__/x"}}, false},
		{"a failure before a success", []string{"GET http://shop.test:8080/x -> -1", "GET http://shop.test:8080/x -> 200"}, Task{Expected: Expected{URL: "__SHOP__/x"}}, true},
		{"any of them", []string{"GET http://shop.test:8080/x -> 200", "GET http://shop.test:8080/x -> 500"}, Task{Evaluator: Evaluator{AnyEvent: true}, Expected: Expected{URL: "__SHOP__/x"}}, true},
		{"no answer", []string{"POST http://a:6666/dummy_bin -> -1"}, Task{Expected: Expected{URL: "^http://.*/dummy_bin$", Method: "POST", Status: &absent}}, true},
		{"another status", []string{"GET http://shop.test:8080/x -> 404"}, Task{Expected: Expected{URL: "__SHOP__/x", Status: &found}}, true},
		{"a static file is none", []string{"GET http://shop.test:8080/x.css?a -> 200"}, Task{Expected: Expected{URL: "__SHOP__/x.css?a"}}, false},
		{"none, and none is there", []string{"GET http://shop.test:8080/y -> 200"}, Task{Evaluator: Evaluator{ShouldNotExist: true}, Expected: Expected{URL: "__SHOP__/x"}}, true},
		{"none, but one failed", []string{"GET http://shop.test:8080/x -> -1"}, Task{Evaluator: Evaluator{ShouldNotExist: true}, Expected: Expected{URL: "__SHOP__/x"}}, false},
		{"a method in lower case is chosen, and another", []string{"post http://shop.test:8080/x -> 200"}, Task{Expected: Expected{URL: "__SHOP__/x", Method: "POST"}}, false},

		{"the page gone to last", []string{"GET http://shop.test:8080/x" + nav + " -> 200", "GET http://shop.test:8080/api -> 200"}, Task{Navigate: true, Expected: Expected{URL: "__SHOP__/x"}}, true},
		{"another page was gone to later", []string{"GET http://shop.test:8080/x" + nav + " -> 200", "GET http://shop.test:8080/y" + nav + " -> 200"}, Task{Navigate: true, Expected: Expected{URL: "__SHOP__/x"}}, false},
		{"a page gone to by a person", []string{"GET http://shop.test:8080/x" + user + nav + " -> 200"}, Task{Navigate: true, Expected: Expected{URL: "__SHOP__/x"}}, true},
		{"headers that were stripped", []string{"GET http://shop.test:8080/x\nSec-Fetch-User: ?1" + nav + " -> 200"}, Task{Navigate: true, Expected: Expected{URL: "__SHOP__/x"}}, false},
		{"no Accept", []string{"GET http://shop.test:8080/x -> 200"}, Task{Navigate: true, Expected: Expected{URL: "__SHOP__/x"}}, false},
		{"two of Accept", []string{"GET http://shop.test:8080/x" + nav + "\nAccept: */* -> 200"}, Task{Navigate: true, Expected: Expected{URL: "__SHOP__/x"}}, false},
		{"304", []string{"GET http://shop.test:8080/x" + nav + " -> 304"}, Task{Navigate: true, Expected: Expected{URL: "__SHOP__/x"}}, false},

		{"a referer that is another's", []string{"GET http://shop.test:8080/x\nReferer: http://shop.test:8080/b -> 200"}, Task{Expected: Expected{URL: "__SHOP__/x", Headers: map[string]string{"referer": "__SHOP__/a"}}}, false},
		{"a referer", []string{"GET http://shop.test:8080/x\nReferer: http://shop.test:8080/a -> 200"}, Task{Expected: Expected{URL: "__SHOP__/x", Headers: map[string]string{"referer": "__SHOP__/a"}}}, true},
		{"a referer that was stripped", []string{"GET http://shop.test:8080/x -> 200"}, Task{Expected: Expected{URL: "__SHOP__/x", Headers: map[string]string{"referer": "__SHOP__/a"}}}, false},
		{"the last of two cookies", []string{"GET http://shop.test:8080/x\nCookie: a=1\ncookie: b=2 -> 200"}, Task{Expected: Expected{URL: "__SHOP__/x", Headers: map[string]string{"Cookie": "^.*a=1.*$"}}}, false},
		{"cookies in one", []string{"GET http://shop.test:8080/x\nCookie: a=1; b=2 -> 200"}, Task{Expected: Expected{URL: "__SHOP__/x", Headers: map[string]string{"Cookie": "^.*A=1.*$"}}}, true},
	}
	for _, test := range tests {
		verdict, err := grade(t, har(test.entries...), test.task)
		if err != nil || verdict.Success != test.want {
			t.Errorf("%s: %+v, %v", test.name, verdict, err)
		}
	}
}

func TestBodies(t *testing.T) {
	tests := []struct {
		name, mimeType, text string
		want                 string // JSON; "" for none
	}{
		{"a form", "application/x-www-form-urlencoded; charset=UTF-8", "a=1&b=x+y%C3%A9&a=2&c&d=a;e=f&=g", `{"":"g","a":"1","b":"x yé","c":"","d":"a;e=f"}`},
		{"JSON", "application/json", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`},
		{"a list", "application/json", `[1]`, ""},
		{"a byte order mark", "application/json", "\ufeff{}", ""},
		{"half", "application/json", `{"a":1`, ""},
		{"base64", "application/json", "eyJhIjoxfQ==", ""},
		{"another type", "application/vnd.api+json", `{"a":1}`, ""},
		{"nothing", "application/json", "", ""},
		{"parts", "multipart/form-data; boundary=XX", "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX\r\ncontent-disposition: form-data; name=\"f\"; filename=\"x\"\r\nContent-Type: text/plain\r\n\r\ntwo\r\nlines\r\n" +
			"--XX\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n2\r\n--XX--\r\n", `{"a":"2","f":"two\r\nlines"}`},
		{"a boundary in quotes", `multipart/form-data; boundary="XX"`, "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX--", `{"a":"1\r\n--XX--"}`},
		{"a boundary in capitals", "multipart/form-data; Boundary=XX", "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX--", ""},
	}
	for _, test := range tests {
		got := ""
		if m := (&content{&test.mimeType, &test.text}).values(); m != nil {
			b, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestTexts(t *testing.T) {
	tests := []struct {
		expected, actual string
		want             bool
	}{
		{"Žluté  Boty", "zlute boty", true},
		{"a\tb", " A b ", true},
		{"Hello!", `"hello"`, true},
		{"well-known", "well known", true},
		{"123-4567", "1234567", false},
		{"^.*welcome.*$", "You are WELCOME, sir", true},
		{"^welcome$", "welcome back", false},
		{"a", "b", false},
	}
	for _, test := range tests {
		if got, err := sameText(test.expected, test.actual); err != nil || got != test.want {
			t.Errorf("%q, %q: %v, %v", test.expected, test.actual, got, err)
		}
	}
	for in, want := range map[string]string{`3`: "3", `3.50`: "3.5", `2e1`: "20.0", `0`: "", `true`: "True", `false`: "", `"x"`: "x"} {
		d := json.NewDecoder(strings.NewReader(in))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil || asText(v) != want {
			t.Errorf("%s: %q, want %q", in, asText(v), want)
		}
	}
}

// What the grader stumbles over is an error.
func TestLoad(t *testing.T) {
	good := string(har("GET http://h/ -> 200"))
	if _, err := Load([]byte(good)); err != nil {
		t.Error(err)
	}
	for name, file := range map[string]string{
		"a byte order mark": "\ufeff" + good,
		"no ASCII":          strings.Replace(good, "http://h/", "http://h/é", 1),
		"no log":            `{"entries":[]}`,
		"no entries":        `{"log":{"entries":[]}}`,
		"no URL":            strings.Replace(good, `"url"`, `"u"`, 1),
		"a URL of nothing":  strings.Replace(good, "http://h/", "", 1),
		"half an address":   strings.Replace(good, "http://h/", "http://[::1/x", 1),
		"no status":         strings.Replace(good, `"status"`, `"s"`, 1),
		"no mimeType":       strings.Replace(good, `"mimeType"`, `"m"`, 1),
		"no headers":        strings.Replace(good, `"headers"`, `"h"`, 1),
		"a null":            strings.Replace(good, `"headers":[`, `"headers":[{"name":"a","value":null}`, 1),
		"no JSON":           good[:len(good)-1],
	} {
		if _, err := Load([]byte(file)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := LoadTrace([]byte("{\"type\":\"resource-snapshot\",\"snapshot\":{}}\n")); err == nil {
		t.Error("an empty snapshot was taken")
	}
	if _, err := LoadTrace([]byte("\n")); err == nil {
		t.Error("a blank line was taken")
	}
}
