package har

import (
	"regexp"
	"strconv"
	"strings"
)

// k6: har-to-k6 validates on its own (src/validate) and refuses the file; it
// decodes parameters once more, with decodeURIComponent, and takes ${…} in a
// request for a variable that is to be defined.
func (c *checker) k6(e *entryFacts) {
	r := &e.request
	if !r.value.is(kindObject) {
		return
	}
	if r.method.is(kindString) && r.method.size == 0 {
		c.k6Refuses("request.method", r.method, "is empty")
	}
	switch v := r.url; {
	case !v.is(kindString):
	case !k6URL.MatchString(v.text):
		c.k6Refuses("request.url", v, "is "+v.what()+", no absolute URL")
	case r.query.value.is(kindArray) && notURL(v.text) != "": // it is only then that it looks
		c.k6Refuses("request.url", v, "is "+v.what()+", which "+notURL(v.text))
	}
	c.k6Variable("request.method", r.method)
	c.k6Variable("request.url", r.url)
	if n := r.headers.contentTypes; n > 1 {
		c.k6Refuses("request.headers", r.headers.value, "has Content-Type "+strconv.Itoa(n)+" times")
	}
	c.k6List("request.headers", &r.headers)
	c.k6List("request.cookies", &r.cookies.pairsFacts)
	query := r.query
	query.nameless = -1 // it passes over those
	c.k6List("request.queryString", &query)
	if p := r.post; p != nil && p.value.is(kindObject) {
		c.k6Post(p)
	}
}

func (c *checker) k6Refuses(field string, v value, text string) {
	c.fault("k6", field, v, "%s: it refuses the file", text)
}

func (c *checker) k6Variable(field string, v value) {
	if v.dollar {
		c.k6Refuses(field, v, "has ${...}, which it takes for a variable")
	}
}

func (c *checker) k6List(field string, f *pairsFacts) {
	if !f.value.is(kindArray) {
		return
	}
	element := func(i int) string { return field + "[" + strconv.Itoa(i) + "]" }
	if i := f.nameless; i >= 0 {
		c.k6Refuses(element(i)+".name", f.value, "is empty")
	}
	if i := f.percent; i >= 0 {
		c.k6Refuses(element(i), f.value, "has a % that it decodes once more, and can't")
	}
	if i := f.variable; i >= 0 {
		c.k6Refuses(element(i), f.value, "has ${...}, which it takes for a variable")
	}
}

func (c *checker) k6Post(p *postFacts) {
	c.k6Variable("request.postData.text", p.text)
	if p.params.n == 0 || !p.mimeType.is(kindString) {
		return
	}
	params := p.params
	if i := params.odd; i >= 0 {
		c.k6Refuses("request.postData.params["+strconv.Itoa(i)+"]", params.oddValue, "is "+params.oddValue.what())
	}
	switch typ, _, _ := strings.Cut(p.mimeType.text, ";"); typ {
	case "application/x-www-form-urlencoded":
	case "multipart/form-data":
		params.percent = -1 // only the other form is decoded
		if i := params.valueless; i >= 0 {
			c.k6Refuses("request.postData.params["+strconv.Itoa(i)+"]", params.value, "has no value")
		}
	default:
		c.k6Refuses("request.postData.params", params.value, "is there, and mimeType, "+p.mimeType.what()+", is no form's")
		return
	}
	c.k6List("request.postData.params", &params)
}

var k6URL = regexp.MustCompile(`^([^:]+://|\$\{[^}]*\})`)
