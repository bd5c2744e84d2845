// Package webarena restates, for tests alone, how WebArena-Verified 1.2.3 reads
// a network trace and grades it. A test whose log becomes a HAR asks by it
// whether tasks would be graded right:
//
//	trace, err := webarena.Load(har)
//	…
//	verdict, err := trace.Grade(task, map[string]string{"SHOPPING": "http://shop.test"})
//
// It has the rules of the network evaluator: what is an event, which ones are
// chosen, and how URLs, headers, bodies, statuses and cookies are compared. It
// does not have schemas for values, alternatives of a value, ssh:// addresses,
// and JSON paths other than by name and number. Letters of other scripts than
// Latin are dropped where texts are compared.
package webarena

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Task is what a trace is to show. In JSON it is a network evaluator's
// configuration.
type Task struct {
	Name     string
	Navigate bool // the task is to go to a page
	Evaluator
	Expected Expected
}

// An Evaluator says how events are chosen and compared.
type Evaluator struct {
	AnyEvent                bool     // any may match, not only the last
	ShouldNotExist          bool     // there must be none
	IgnoredQueryParams      []string // names
	IgnoredQueryPatterns    []string
	IgnoredPostDataPatterns []string
	DecodeBase64Query       bool
}

// Expected is an event's description. What is nil is not looked at.
type Expected struct {
	URL             string              `json:"url"`
	QueryParams     map[string][]string `json:"query_params"`
	Method          string              `json:"http_method"`     // "": GET
	Status          *int                `json:"response_status"` // nil: 200
	Headers         map[string]string   `json:"headers"`
	PostData        map[string]any      `json:"post_data"`
	ResponseContent map[string]any      `json:"response_content"`
	ResponseCookies map[string]string   `json:"response_cookies"`
}

// A Verdict is how a trace does by a task: Success, or why not.
type Verdict struct {
	Success bool
	Reason  string
}

// Grade grades t. sites are the URLs that stand behind the names in a task's
// URLs (SHOPPING for __SHOPPING__); an empty one is told by the first event, as
// for a run without a configuration. An error is a verdict too: the grader's.
func (t *Trace) Grade(task Task, sites map[string]string) (Verdict, error) {
	g, err := newGrading(t, task, sites)
	if err != nil {
		return Verdict{}, err
	}
	chosen, err := g.choose()
	if err != nil {
		return Verdict{}, err
	}
	switch {
	case task.ShouldNotExist && len(chosen) > 0:
		return Verdict{Reason: fmt.Sprintf("%d events where none should be", len(chosen))}, nil
	case task.ShouldNotExist:
		return Verdict{Success: true}, nil
	case len(chosen) == 0:
		return Verdict{Reason: "no event matches"}, nil
	case !task.AnyEvent:
		chosen = chosen[len(chosen)-1:]
	}
	var reasons []string
	for _, e := range chosen {
		reason, err := g.compare(e)
		if err != nil {
			return Verdict{}, err
		} else if reason == "" {
			return Verdict{Success: true}, nil
		}
		reasons = append(reasons, reason)
	}
	return Verdict{Reason: strings.Join(reasons, "; ")}, nil
}

// A grading is one task on one trace.
type grading struct {
	rules
	events   []event
	task     Task
	expected address
	referer  *address // nil: none is expected
	posted   []*regexp.Regexp
}

func newGrading(t *Trace, task Task, sites map[string]string) (*grading, error) {
	g := &grading{task: task}
	for _, e := range t.events {
		if !e.isStatic() {
			g.events = append(g.events, e)
		}
	}
	for name, url := range sites {
		if url == "" && len(g.events) > 0 {
			scheme, rest, _ := strings.Cut(*g.events[0].Request.URL, "://")
			host, _, _ := strings.Cut(rest, "/")
			url = scheme + "://" + host
		}
		g.sites = append(g.sites, site{"__" + name + "__", url})
	}
	slices.SortFunc(g.sites, func(a, b site) int { return cmp.Compare(len(b.url), len(a.url)) })
	g.ignored, g.base64 = task.IgnoredQueryParams, task.DecodeBase64Query
	for _, p := range task.IgnoredQueryPatterns {
		pattern, err := regexp.Compile("(?i)" + p)
		if err != nil {
			return nil, err
		}
		g.ignoredPatterns = append(g.ignoredPatterns, pattern)
	}
	for _, p := range task.IgnoredPostDataPatterns {
		pattern, err := regexp.Compile(p)
		if err != nil {
			return nil, err
		}
		g.posted = append(g.posted, pattern)
	}
	var err error
	if g.expected, err = g.address(task.Expected.URL); err != nil {
		return nil, err
	}
	if task.Expected.QueryParams != nil {
		g.expected.query = map[string]string{}
		for name, values := range task.Expected.QueryParams {
			if !g.ignores(name) && len(values) > 0 {
				g.expected.query[name] = strings.ToLower(strings.TrimSpace(slices.Min(values)))
			}
		}
	}
	if referer, ok := task.Expected.Headers["referer"]; ok {
		a, err := g.address(referer)
		if err != nil {
			return nil, err
		}
		g.referer = &a
	}
	return g, nil
}

func (g *grading) method() string { return cmp.Or(g.task.Expected.Method, "GET") }

// choose finds the events that the task is about.
func (g *grading) choose() ([]event, error) {
	var list []event
	if g.task.Navigate && g.method() == "GET" {
		for _, e := range g.events {
			if e.isNavigation() {
				list = []event{e}
			}
		}
		return list, nil
	}
	for _, e := range g.events {
		if !strings.EqualFold(*e.Request.Method, g.method()) {
			continue
		}
		if ok, err := g.isAt(g.expected, *e.Request.URL); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if referer, has := e.header("referer"); has && referer != "" && g.referer != nil {
			if ok, err := g.isAt(*g.referer, referer); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// isAt compares a URL but for its query.
func (g *grading) isAt(expected address, raw string) (bool, error) {
	actual, err := g.address(raw)
	if err != nil {
		return false, err
	}
	return g.matches(expected, actual)
}

// compare says what of an event is not as expected; "" when all is.
func (g *grading) compare(e event) (string, error) {
	want := &g.task.Expected
	if ok, err := g.sameAddress(g.expected, *e.Request.URL); err != nil || !ok {
		return fmt.Sprintf("the URL is %q", *e.Request.URL), err
	}
	if *e.Request.Method != g.method() { // here its case counts
		return fmt.Sprintf("the method is %q", *e.Request.Method), nil
	}
	status := 200
	if want.Status != nil {
		status = *want.Status
	}
	if *e.Response.Status != status {
		return fmt.Sprintf("the status is %d", *e.Response.Status), nil
	}
	for name, value := range want.Headers {
		got, ok := e.header(name)
		if !ok {
			return fmt.Sprintf("there is no header %s", name), nil
		}
		if same, err := g.sameHeader(name, value, got); err != nil || !same {
			return fmt.Sprintf("the header %s is %q", name, got), err
		}
	}
	if reason, err := g.comparePosted(want.PostData, e.Request.PostData.values()); err != nil || reason != "" {
		return reason, err
	}
	if reason, err := compareContent(want.ResponseContent, e.Response.Content.values()); err != nil || reason != "" {
		return reason, err
	}
	cookies := e.cookies()
	for name, value := range want.ResponseCookies {
		got, ok := cookies[name]
		if !ok {
			return fmt.Sprintf("there is no cookie %s", name), nil
		}
		if same, err := sameText(value, got); err != nil || !same {
			return fmt.Sprintf("the cookie %s is %q", name, got), err
		}
	}
	return "", nil
}

func (g *grading) sameAddress(expected address, raw string) (bool, error) {
	actual, err := g.address(raw)
	if err != nil {
		return false, err
	}
	if ok, err := g.matches(expected, actual); err != nil || !ok {
		return false, err
	}
	return sameQuery(expected.query, actual.query)
}

// sameHeader compares a referer as a URL, and others as text in which the
// sites' URLs may stand for their names.
func (g *grading) sameHeader(name, expected, actual string) (bool, error) {
	if name == "referer" {
		a, err := g.address(expected)
		if err != nil {
			return false, err
		}
		return g.sameAddress(a, actual)
	}
	for _, s := range g.sites {
		if url := strings.TrimRight(s.url, "/"); strings.Contains(actual, url) {
			actual = strings.ReplaceAll(actual, url, s.template)
			break
		}
	}
	return sameText(expected, actual)
}

// comparePosted compares the keys that are expected, as text. A key that is to
// be null must not be there.
func (g *grading) comparePosted(expected, actual map[string]any) (string, error) {
	if len(expected) == 0 {
		return "", nil
	} else if len(actual) == 0 {
		return "nothing was posted that can be read", nil
	}
	kept := map[string]any{}
	for name, value := range actual {
		if !slices.ContainsFunc(g.posted, func(p *regexp.Regexp) bool { return p.MatchString(name) }) {
			kept[name] = value
		}
	}
	for key, want := range expected {
		got, err := lookUp(kept, key)
		if err != nil {
			return "", err
		}
		same := want == nil && got == nil
		if want != nil && got != nil {
			if same, err = sameText(asText(want), asText(got)); err != nil {
				return "", err
			}
		}
		if !same {
			return fmt.Sprintf("%s was posted as %v", key, got), nil
		}
	}
	return "", nil
}

// compareContent compares the keys that are expected, as they are.
func compareContent(expected, actual map[string]any) (string, error) {
	if len(expected) == 0 {
		return "", nil
	} else if len(actual) == 0 {
		return "the answer can't be read", nil
	}
	for key, want := range expected {
		got, err := lookUp(actual, key)
		if err != nil {
			return "", err
		}
		if !sameValue(want, got) {
			return fmt.Sprintf("%s is %v in the answer", key, got), nil
		}
	}
	return "", nil
}

// UnmarshalJSON reads a task as evaluators are configured: {name, navigate,
// evaluator, expected}.
func (t *Task) UnmarshalJSON(b []byte) error {
	var in struct {
		Name      string
		Navigate  bool
		Evaluator struct {
			LastEventOnly           *bool    `json:"last_event_only"`
			ShouldNotExist          bool     `json:"should_not_exist"`
			IgnoredQueryParams      []string `json:"ignored_query_params"`
			IgnoredQueryPatterns    []string `json:"ignored_query_params_patterns"`
			IgnoredPostDataPatterns []string `json:"ignored_post_data_params_patterns"`
			DecodeBase64Query       bool     `json:"decode_base64_query"`
		}
		Expected json.RawMessage
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	e := &in.Evaluator
	*t = Task{Name: in.Name, Navigate: in.Navigate, Evaluator: Evaluator{
		AnyEvent: e.LastEventOnly != nil && !*e.LastEventOnly, ShouldNotExist: e.ShouldNotExist,
		IgnoredQueryParams: e.IgnoredQueryParams, IgnoredQueryPatterns: e.IgnoredQueryPatterns,
		IgnoredPostDataPatterns: e.IgnoredPostDataPatterns, DecodeBase64Query: e.DecodeBase64Query,
	}}
	d := json.NewDecoder(strings.NewReader(string(in.Expected)))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode(&t.Expected)
}
