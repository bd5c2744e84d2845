package hartest

import "strings"

// Cases are all of them: each rule of har.Check is broken by one at least.
func Cases() []Case {
	var all []Case
	for _, list := range [][]Case{jsonCases(), schemaCases(), harCases(), devToolsCases(), readerCases(), webArenaCases()} {
		all = append(all, list...)
	}
	return all
}

func jsonCases() []Case {
	const rest = `"time": 10.5,`
	return []Case{
		{Name: "sound"},
		{Name: "cut", Old: `"time": 7,` + sound[indexAfter(`"time": 7,`):], Faults: "2 json", NotJSON: true},
		{Name: "cut in a string", Old: `shop.test/cart` + sound[indexAfter(`shop.test/cart`):], Faults: "2 request.url json", NotJSON: true},
		{Name: "trailing comma", Old: rest, New: `"time": 10.5,,`, Faults: "1 json", NotJSON: true},
		{Name: "no colon", Old: rest, New: `"time" 10.5,`, Faults: "1 json", NotJSON: true},
		{Name: "single quotes", Old: rest, New: `'time': 10.5,`, Faults: "1 json", NotJSON: true},
		{Name: "leading zero", Old: rest, New: `"time": 010.5,`, Faults: "1 time json", NotJSON: true},
		{Name: "undefined", Old: rest, New: `"time": undefined,`, Faults: "1 time json", NotJSON: true},
		{Name: "unknown escape", Old: `"Shop"`, New: `"Sh\op"`, Faults: "log.pages[0].title json", NotJSON: true},
		{Name: "half an escape", Old: `\u00e9`, New: `\u00e`, Faults: "1 response.content.text json", NotJSON: true},
		{Name: "NaN", Old: `"bodySize": 0`, New: `"bodySize": NaN`, Faults: "1 request.bodySize json,1 request.bodySize har-validator,1 request.bodySize devtools", NotJSON: true},
		{Name: "control character", Old: `"Shop"`, New: "\"Sh\top\"", Faults: "log.pages[0].title json", NotJSON: true},
		{Name: "not UTF-8", Old: `"Shop"`, New: "\"Sh\xffop\"", Faults: "log.pages[0].title json,log webarena warning"},
		{Name: "UTF-8", Old: `"Shop"`, New: "\"Sh\u00f6p \U0001f98a\"", Faults: "log webarena warning"},
		{Name: "half a pair", Old: `"Shop"`, New: `"\ud83e Shop"`, Faults: "log.pages[0].title json"},
		{Name: "byte order mark", Old: `{"log"`, New: "\ufeff" + `{"log"`, Faults: "json", NotJSON: true},
		{Name: "UTF-16", Old: sound, New: "\xff\xfe{\x00}\x00", Faults: "json", NotJSON: true},
		{Name: "twice", Old: rest, New: `"time": 1, "time": 10.5,`, Faults: "1 time json"},
		{Name: "behind the end", Old: "]\n}}", New: "]\n}}\n{}", Faults: "json", NotJSON: true},
		{Name: "nothing", Old: sound, New: "", Faults: "json", NotJSON: true},
		{Name: "nested", Old: `"_resourceType": "xhr"`, New: `"_x": ` + deep(600), Faults: "2 _x" + strings.Repeat("[0]", 67) + "... json"},
	}
}

func schemaCases() []Case {
	const start = `"startedDateTime": "2026-01-02T03:04:05.250+00:00"`
	cases := []Case{
		{Name: "an array", Old: sound, New: `[]`, Faults: "har-validator,log devtools"},
		{Name: "no log", Old: `"log": {`, New: `"blog": {`, Faults: "log har-validator,log devtools"},
		{Name: "log is null", Old: sound, New: `{"log": null}`, Faults: "log har-validator,log devtools"},
		{Name: "no version", Old: `"version": "1.2",`, Faults: "log.version har-validator"},
		{Name: "version is a number", Old: `"version": "1.2"`, New: `"version": 1.2`, Faults: "log.version har-validator"},
		{Name: "no creator", Old: `"creator": {"name": "Recorder", "version": "1"},`, Faults: "log.creator har-validator,log.creator devtools"},
		{Name: "creator without a version", Old: `"creator": {"name": "Recorder", "version": "1"},`, New: `"creator": {"name": "Recorder"},`, Faults: "log.creator.version har-validator"},
		{Name: "creator without a version among many members", Old: `"creator": {"name": "Recorder", "version": "1"},`, New: `"creator": {"name": "Recorder"` + many(100) + `},`, Faults: "log.creator.version har-validator"},
		{Name: "browser without a name", Old: `"name": "Browser", `, Faults: "log.browser.name har-validator"},
		{Name: "browser is a string", Old: `{"name": "Browser", "version": "2"}`, New: `"Browser"`, Faults: "log.browser har-validator,log.browser devtools"},
		{Name: "pages is null", Old: `"pages": [{"startedDateTime": "2026-01-02T03:04:05.000Z", "id": "page_1", "title": "Shop", "pageTimings": {"onContentLoad": 12.5, "onLoad": -1}}]`, New: `"pages": null`,
			Faults: "log.pages har-validator,1 pageref haralyzer,2 pageref haralyzer,3 pageref haralyzer,log.pages safari,log.pages chromehar"},
		{Name: "page is null", Old: `"pages": [`, New: `"pages": [null, `, Faults: "log.pages[0] har-validator,log.pages[0] devtools,log.pages[0].startedDateTime safari"},
		{Name: "page without pageTimings", Old: `, "pageTimings": {"onContentLoad": 12.5, "onLoad": -1}`, Faults: "log.pages[0].pageTimings har-validator,log.pages[0].pageTimings devtools"},
		{Name: "page timing", Old: `12.5`, New: `"soon"`, Faults: "log.pages[0].pageTimings.onContentLoad har-validator,log.pages[0].pageTimings.onContentLoad devtools"},
		{Name: "page start", Old: `[{"startedDateTime": "2026-01-02T03:04:05.000Z"`, New: `[{"startedDateTime": "now"`,
			Faults: "log.pages[0].startedDateTime har-validator,log.pages[0].startedDateTime devtools,log.pages[0].startedDateTime safari"},
		{Name: "page id", Old: `"id": "page_1"`, New: `"id": 1`, Faults: "log.pages[0].id har-validator,1 pageref haralyzer,1 pageref perfcascade,2 pageref haralyzer,2 pageref perfcascade,3 pageref haralyzer,3 pageref perfcascade"},
		{Name: "entries is null", Old: sound, New: `{"log": {"version": "1.2", "creator": {"name": "", "version": ""}, "entries": null}}`, Faults: "log.entries har-validator,log.entries devtools"},
		{Name: "entry is null", Old: `"entries": [`, New: `"entries": [null,`, Faults: "1 har-validator,1 devtools"},
		{Name: "no start", Old: start + ",", Faults: "2 startedDateTime har-validator,2 startedDateTime devtools"},
		{Name: "start is null", Old: start, New: `"startedDateTime": null`, Faults: "2 startedDateTime har-validator"},
		{Name: "start of month 13", Old: start, New: `"startedDateTime": "2026-13-02T03:04:05.250Z"`, Faults: "2 startedDateTime devtools,2 startedDateTime mitmproxy"},
		{Name: "start of month 20", Old: start, New: `"startedDateTime": "2026-20-02T03:04:05.250Z"`, Faults: "2 startedDateTime har-validator,2 startedDateTime devtools,2 startedDateTime mitmproxy"},
		{Name: "start without a zone", Old: start, New: `"startedDateTime": "2026-01-02T03:04:05.250"`, Faults: "2 startedDateTime har-validator"},
		{Name: "start with a zone's hours", Old: start, New: `"startedDateTime": "2026-01-02T03:04:05.250+00"`, Faults: "2 startedDateTime har-validator,2 startedDateTime devtools"},
		{Name: "start in lower case", Old: start, New: `"startedDateTime": "2026-01-02t03:04:05.250z"`, Faults: "2 startedDateTime har-validator"},
		{Name: "start as in mail", Old: start, New: `"startedDateTime": "Fri, 02 Jan 2026 03:04:05 GMT"`, Faults: "2 startedDateTime har-validator"},
		{Name: "no time", Old: `"time": 7,`, Faults: "2 time har-validator,2 time devtools"},
		{Name: "time is null", Old: `"time": 7`, New: `"time": null`, Faults: "2 time har-validator"},
		{Name: "time is a string", Old: `"time": 7`, New: `"time": "7"`, Faults: "2 time har-validator"},
		{Name: "time is a word", Old: `"time": 7`, New: `"time": "7 ms"`, Faults: "2 time har-validator,2 time devtools"},
		{Name: "no cache", Old: "      \"cache\": {},\n", Faults: "2 cache har-validator"},
		{Name: "cache is null", Old: `"cache": {}`, New: `"cache": null`},
		{Name: "cache without lastAccess", Old: `"lastAccess": "2026-01-02T03:04:05Z", `, Faults: "1 cache.beforeRequest.lastAccess har-validator"},
		{Name: "cache with a bad time", Old: `"lastAccess": "2026`, New: `"lastAccess": "x2026`, Faults: "1 cache.beforeRequest.lastAccess har-validator"},
		{Name: "cache with a time to the hour", Old: `"lastAccess": "2026-01-02T03:04:05Z"`, New: `"lastAccess": "20260102T030405"`},
		{Name: "cache with half a hit", Old: `"hitCount": 1`, New: `"hitCount": 1.5`, Faults: "1 cache.beforeRequest.hitCount har-validator"},
		{Name: "cache is a string", Old: `"afterRequest": null`, New: `"afterRequest": "x"`, Faults: "1 cache.afterRequest har-validator"},
		{Name: "address is empty", Old: `"192.0.2.1"`, New: `""`, Faults: "1 serverIPAddress har-validator"},
		{Name: "address in brackets", Old: `"2001:db8::1"`, New: `"[2001:db8::1]"`, Faults: "2 serverIPAddress har-validator"},
		{Name: "address with a zone", Old: `"2001:db8::1"`, New: `"fe80::1%eth0"`},
		{Name: "address mapped", Old: `"2001:db8::1"`, New: `"::ffff:192.0.2.1"`},
		{Name: "address with zeros", Old: `"192.0.2.1"`, New: `"192.000.002.001"`},
		{Name: "address out of range", Old: `"192.0.2.1"`, New: `"192.0.2.256"`, Faults: "1 serverIPAddress har-validator"},
		{Name: "address is a name", Old: `"192.0.2.1"`, New: `"shop.test"`, Faults: "1 serverIPAddress har-validator"},
		{Name: "address is null", Old: `"192.0.2.1"`, New: `null`, Faults: "1 serverIPAddress har-validator"},
		{Name: "connection is a number", Old: `"connection": "443"`, New: `"connection": 443`, Faults: "1 connection har-validator"},
		{Name: "comment is a number", Old: `"cache": {}`, New: `"comment": 1, "cache": {}`, Faults: "2 comment har-validator"},
		{Name: "pageref is a number", Old: `"pageref": "page_1"`, New: `"pageref": 1`, Faults: "1 pageref har-validator"},

		{Name: "request is null", Old: sound[indexOf(`{"method": "GET", "url": "wss`):indexAfter(`"headers": [], "queryString": [], "headersSize": -1, "bodySize": -1}`)], New: `null`, Faults: "3 request har-validator,3 request devtools"},
		{Name: "no method", Old: `"method": "POST", `, Faults: "2 request.method har-validator"},
		{Name: "no url", Old: `"url": "https://shop.test/cart", `, Faults: "2 request.url har-validator"},
		{Name: "space in a url", Old: `shop.test/cart`, New: `shop.test/my cart`, Faults: "2 request.url har-validator"},
		{Name: "no-break space in a url", Old: `shop.test/cart`, New: `shop.test/my\u00a0cart`, Faults: "2 request.url har-validator,2 request.url mitmproxy"},
		{Name: "url is *", Old: `https://shop.test/cart`, New: `*`, Faults: "2 request.url har-validator,2 request.url httptoolkit,2 request.url openapi,2 request.url k6,2 request.url mitmproxy"},
		{Name: "no httpVersion", Old: `"httpVersion": "HTTP/1.1", "cookies": [],` + "\n        \"headers\": [{\"name\": \"Host\"", New: `"cookies": [],` + "\n        \"headers\": [{\"name\": \"Host\"", Faults: "2 request.httpVersion har-validator"},
		{Name: "httpVersion is null", Old: `"HTTP/2",` + "\n        \"cookies\": [{\"name\": \"sid\"", New: `null,` + "\n        \"cookies\": [{\"name\": \"sid\"", Faults: "1 request.httpVersion har-validator"},
		{Name: "headers is null", Old: `"headers": [], "queryString"`, New: `"headers": null, "queryString"`, Faults: "3 request.headers har-validator"},
		{Name: "headers is an object", Old: `"headers": [], "queryString"`, New: `"headers": {"A": "b"}, "queryString"`, Faults: "3 request.headers har-validator"},
		{Name: "no headers", Old: `"headers": [], "queryString"`, New: `"queryString"`, Faults: "3 request.headers har-validator"},
		{Name: "header without a value", Old: `{"name": "accept", "value": "text/html"}`, New: `{"name": "accept"}`, Faults: "1 request.headers[1].value har-validator"},
		{Name: "header's value is null", Old: `"value": "text/html"}`, New: `"value": null}`, Faults: "1 request.headers[1].value har-validator"},
		{Name: "header is null", Old: `{"name": "accept", "value": "text/html"}`, New: `null`, Faults: "1 request.headers[1] har-validator,1 request.headers[1] devtools"},
		{Name: "header is a pair", Old: `{"name": "accept", "value": "text/html"}`, New: `["accept", "text/html"]`, Faults: "1 request.headers[1] har-validator"},
		{Name: "no queryString", Old: `"queryString": [], "headersSize"`, New: `"headersSize"`, Faults: "3 request.queryString har-validator"},
		{Name: "query value is a number", Old: `{"name": "q", "value": "a b"}`, New: `{"name": "q", "value": 1}`, Faults: "1 request.queryString[0].value har-validator"},
		{Name: "cookie without a value", Old: `{"name": "sid", "value": "1"}`, New: `{"name": "sid"}`, Faults: "1 request.cookies[0].value har-validator"},
		{Name: "cookie is null", Old: `{"name": "sid", "value": "1"}`, New: `null`, Faults: "1 request.cookies[0] har-validator,1 request.cookies[0] devtools"},
		{Name: "cookie's path is null", Old: `"path": "/"`, New: `"path": null`, Faults: "1 response.cookies[0].path har-validator"},
		{Name: "cookie's domain is null", Old: `"domain": "shop.test"`, New: `"domain": null`, Faults: "1 response.cookies[0].domain har-validator"},
		{Name: "cookie's expires is null", Old: `"expires": "2027-01-02T03:04:05.000Z"`, New: `"expires": null`},
		{Name: "cookie's expires is empty", Old: `"expires": "2027-01-02T03:04:05.000Z"`, New: `"expires": ""`, Faults: "1 response.cookies[0].expires har-validator"},
		{Name: "cookie's expires is a word", Old: `"expires": "2027-01-02T03:04:05.000Z"`, New: `"expires": "Session"`, Faults: "1 response.cookies[0].expires har-validator,1 response.cookies[0].expires devtools"},
		{Name: "cookie's expires is HTTP's", Old: `"expires": "2027-01-02T03:04:05.000Z"`, New: `"expires": "Sat, 02 Jan 2027 03:04:05 GMT"`, Faults: "1 response.cookies[0].expires har-validator"},
		{Name: "cookie's expires is NaN", Old: `"expires": "2027-01-02T03:04:05.000Z"`, New: `"expires": "NaN-NaN-NaNTNaN:NaN"`, Faults: "1 response.cookies[0].expires har-validator,1 response.cookies[0].expires devtools"},
		{Name: "cookie's httpOnly is a string", Old: `"httpOnly": true`, New: `"httpOnly": "true"`, Faults: "1 response.cookies[0].httpOnly har-validator"},
		{Name: "no headersSize", Old: `"headersSize": -1, "bodySize": 5`, New: `"bodySize": 5`, Faults: "2 request.headersSize har-validator,2 request.headersSize devtools"},
		{Name: "bodySize is null", Old: `"bodySize": 5`, New: `"bodySize": null`, Faults: "2 request.bodySize har-validator"},
		{Name: "bodySize is a string", Old: `"bodySize": 5`, New: `"bodySize": "5"`, Faults: "2 request.bodySize har-validator"},
		{Name: "bodySize is half", Old: `"bodySize": 5`, New: `"bodySize": 5.5`, Faults: "2 request.bodySize har-validator"},
		{Name: "bodySize is 5.0", Old: `"bodySize": 5`, New: `"bodySize": 5.0`},
		{Name: "bodySize is 5e0", Old: `"bodySize": 5`, New: `"bodySize": 5e0`},
		{Name: "postData is null", Old: sound[indexOf(`{"mimeType": "application/x-www`):indexAfter(`"text": "qty=3"}`)], New: `null`, Faults: "2 request.postData har-validator"},
		{Name: "postData without mimeType", Old: `{"mimeType": "application/x-www-form-urlencoded", `, New: `{`, Faults: "2 request.postData.mimeType har-validator"},
		{Name: "postData's mimeType is null", Old: `{"mimeType": "application/x-www-form-urlencoded"`, New: `{"mimeType": null`, Faults: "2 request.postData.mimeType har-validator"},
		{Name: "params is null", Old: `[{"name": "qty", "value": "3"}]`, New: `null`, Faults: "2 request.postData.params har-validator"},
		{Name: "params is null in it", Old: `[{"name": "qty", "value": "3"}]`, New: `[null]`, Faults: "2 request.postData.params[0] devtools,2 request.postData.params[0] k6"},
		{Name: "param's value is a number", Old: `{"name": "qty", "value": "3"}`, New: `{"name": "qty", "value": 3}`},
		{Name: "text is a number", Old: `"text": "qty=3"`, New: `"text": 3`, Faults: "2 request.postData.text har-validator"},

		{Name: "response is missing", Old: sound[indexOf(`"response": {"status": 101`):indexOf("\"cache\": {},\n      \"timings\": {\"blocked\": -1, \"dns\": -1, \"connect\": -1, \"ssl\": -1, \"send\": -1")], Faults: "3 response har-validator,3 response devtools"},
		{Name: "status is missing", Old: `"status": 201, `, Faults: "2 response.status har-validator,2 response.status devtools"},
		{Name: "status is a string", Old: `"status": 201`, New: `"status": "201"`, Faults: "2 response.status har-validator"},
		{Name: "statusText is null", Old: `"statusText": ""`, New: `"statusText": null`, Faults: "2 response.statusText har-validator"},
		{Name: "no redirectURL", Old: `"redirectURL": "", "headersSize": 90`, New: `"headersSize": 90`, Faults: "1 response.redirectURL har-validator"},
		{Name: "content is empty", Old: `{"size": 8, "mimeType": "application/json", "text": "{\"id\":1}"}`, New: `{}`, Faults: "2 response.content.size har-validator,2 response.content.mimeType har-validator,2 response.content.size devtools"},
		{Name: "content is missing", Old: `"content": {"size": 8, "mimeType": "application/json", "text": "{\"id\":1}"},`, Faults: "2 response.content har-validator,2 response.content devtools"},
		{Name: "size is half", Old: `"size": 8`, New: `"size": 8.5`, Faults: "2 response.content.size har-validator"},
		{Name: "compression is a string", Old: `"compression": -3`, New: `"compression": ""`, Faults: "1 response.content.compression har-validator"},
		{Name: "mimeType is null", Old: `"mimeType": "application/json"`, New: `"mimeType": null`, Faults: "2 response.content.mimeType har-validator"},
		{Name: "encoding is null", Old: `"encoding": "base64"`, New: `"encoding": null`, Faults: "3 response.content.encoding har-validator"},
		{Name: "status is -1", Old: `"status": 201`, New: `"status": -1`},

		{Name: "timings is a number", Old: `{"blocked": 1, "dns": -1, "connect": 4, "ssl": 3, "send": 0.5, "wait": 3, "receive": 2}`, New: `1`, Faults: "1 timings devtools"},
		{Name: "no send", Old: `"send": 0.5, `, Faults: "1 timings.send har-validator,1 timings.send devtools"},
		{Name: "wait is null", Old: `"wait": 3`, New: `"wait": null`, Faults: "1 time har warning,1 timings.wait har-validator"},
		{Name: "connect is null", Old: `"connect": 4, "ssl": 3`, New: `"connect": null, "ssl": -1`, Faults: "1 time har warning,1 timings.connect har-validator"},
	}
	return cases
}

func harCases() []Case {
	return []Case{
		{Name: "another sum", Old: `"time": 10.5`, New: `"time": 13.5`, Faults: "1 time har warning"},
		{Name: "a sum but for rounding", Old: `"time": 10.5`, New: `"time": 10.4999999`},
		{Name: "ssl beside connect", Old: `"connect": 4, "ssl": 3`, New: `"connect": 1, "ssl": 6`, Faults: "1 time har warning,1 timings.ssl har warning,1 timings.ssl httpwatch"},
		{Name: "ssl without connect", Old: `"connect": -1, "ssl": -1, "send": 1`, New: `"connect": -1, "ssl": 5, "send": 1`, Faults: "2 timings.ssl har warning,2 timings.ssl httpwatch"},
		{Name: "below nothing", Old: `"dns": -1, "connect": 4`, New: `"dns": -2, "connect": 4`, Faults: "1 timings.dns har warning"},
		{Name: "send is -1", Old: `"send": 1, "wait": 2`, New: `"send": -1, "wait": 3`, Faults: "2 timings.send har warning"},
		{Name: "size", Old: `"compression": -3`, New: `"compression": 3`, Faults: "1 response.content.size har warning"},
		{Name: "size below nothing", Old: `"bodySize": 5`, New: `"bodySize": -5`, Faults: "2 request.bodySize har warning"},
		{Name: "status out of range", Old: `"status": 201`, New: `"status": 20`, Faults: "2 response.status har warning"},
		{Name: "order", Old: `"2026-01-02T03:04:05.250+00:00"`, New: `"2026-01-02T03:04:05.251+00:00"`, Faults: "3 startedDateTime har warning"},
		{Name: "order in another zone", Old: `"2026-01-02T03:04:05.250+00:00"`, New: `"2026-01-02T05:04:05.250+02:00"`},
		{Name: "fragment", Old: `shop.test/cart`, New: `shop.test/cart#top`, Faults: "2 request.url har warning,2 request.url webarena warning"},
		{Name: "not base64", Old: `"AQID"`, New: `"AQ*D"`, Faults: "3 response.content.text har"},
		{Name: "base64 cut", Old: `"AQID"`, New: `"AQI"`, Faults: "3 response.content.text har"},
		{Name: "base64 in lines", Old: `"AQID"`, New: `"AQ\r\nID"`},
		{Name: "base64 behind its end", Old: `"AQID"`, New: `"AQ==AQID"`, Faults: "3 response.content.text har"},
		{Name: "encoding", Old: `"encoding": "base64"`, New: `"encoding": "gzip"`, Faults: "3 response.content.encoding har"},
		{Name: "binary message", Old: `"AQI="`, New: `"hello"`, Faults: "3 _webSocketMessages[1].data har warning"},
	}
}

func devToolsCases() []Case {
	return []Case{
		{Name: "initiator is null", Old: `"_initiator": {"type": "other", "lineNumber": 3}`, New: `"_initiator": null`, Faults: "1 _initiator devtools"},
		{Name: "initiator is a string", Old: `"_initiator": {"type": "other", "lineNumber": 3}`, New: `"_initiator": "parser"`},
		{Name: "initiator's line", Old: `"lineNumber": 3`, New: `"lineNumber": "three"`, Faults: "1 _initiator.lineNumber devtools"},
		{Name: "transfer size", Old: `"_transferSize": 105`, New: `"_transferSize": "much"`, Faults: "1 response._transferSize devtools"},
		{Name: "no transfer size", Old: `, "_transferSize": 100`, Faults: "2 response._transferSize devtools warning"},
		{Name: "message is null", Old: `{"type": "send", "time": 1767323045.5, "opcode": 1, "data": "hello"}`, New: `null`, Faults: "3 _webSocketMessages[0] devtools"},
		{Name: "message's time", Old: `"time": 1767323045.5`, New: `"time": "now"`, Faults: "3 _webSocketMessages[0].time devtools"},
		{Name: "message's time in milliseconds", Old: `"time": 1767323045.5`, New: `"time": 1767323045500`, Faults: "3 _webSocketMessages[0].time devtools warning"},
		{Name: "message's type", Old: `"type": "send"`, New: `"type": "sent"`, Faults: "3 _webSocketMessages[0].type devtools warning"},
		{Name: "postData without text", Old: `, "text": "qty=3"`, Faults: "2 request.postData.text devtools warning,2 request.postData.text mitmproxy,2 request.postData.text webarena warning"},
		{Name: "postData in base64", Old: `"text": "qty=3"`, New: `"text": "cXR5PTM=", "encoding": "base64"`, Faults: "2 request.postData.encoding devtools warning,2 request.postData.encoding webarena warning"},
	}
}

func readerCases() []Case {
	const url = `https://shop.test/cart`
	const get = `"HTTP/2",` + "\n        \"cookies\": [{\"name\": \"sid\""
	version := func(v string) string { return `"` + v + `",` + "\n        \"cookies\": [{\"name\": \"sid\"" }
	return []Case{
		{Name: "log's version", Old: `"version": "1.2"`, New: `"version": "1.1"`, Faults: "log.version safari"},
		{Name: "no pages", Old: sound[indexOf(`"pages": [`):indexOf(`"entries": [`)], Faults: "1 pageref haralyzer,2 pageref haralyzer,3 pageref haralyzer,log.pages safari,log.pages chromehar"},
		{Name: "empty", Old: sound, New: `{"log": {"version": "1.2", "creator": {"name": "", "version": ""}, "pages": [], "entries": []}}`,
			Faults: "log.entries webarena warning,log.pages safari warning,log.pages chromehar warning,log.pages perfcascade warning"},
		{Name: "pages behind the entries", Old: sound, New: `{"log": {"version": "1.2", "creator": {"name": "", "version": ""}, ` + sound[indexOf(`"entries": [`):len(sound)-4] + `,"pages": [{"startedDateTime": "2026-01-02T03:04:05.000Z", "id": "page_2", "title": "", "pageTimings": {}}]}}`,
			Faults: "1 pageref haralyzer,1 pageref perfcascade,2 pageref haralyzer,2 pageref perfcascade,3 pageref haralyzer,3 pageref perfcascade"},
		{Name: "no pageref", Old: `"pageref": "page_1",`, Faults: "1 pageref perfcascade"},
		{Name: "pageref of no page", Old: `"pageref": "page_1"`, New: `"pageref": "page_2"`, Faults: "1 pageref haralyzer,1 pageref perfcascade"},
		{Name: "page without an id", Old: `"id": "page_1"`, New: `"id": ""`, Faults: "log.pages[0].id k6,1 pageref haralyzer,1 pageref perfcascade,2 pageref haralyzer,2 pageref perfcascade,3 pageref haralyzer,3 pageref perfcascade"},
		{Name: "two pages of an id", Old: `"pages": [`, New: `"pages": [{"startedDateTime": "2026-01-02T03:04:05.000Z", "id": "page_1", "title": "", "pageTimings": {}}, `, Faults: "log.pages[1].id k6,log.pages[1].id haralyzer warning"},
		{Name: "no blocked", Old: `"blocked": 1, "dns": -1, "connect": 4`, New: `"dns": -1, "connect": 5`, Faults: "1 timings.blocked safari warning"},
		{Name: "connection is no number", Old: `"connection": "443"`, New: `"connection": "c1"`, Faults: "1 connection haralyzer warning"},
		{Name: "nine digits", Old: `05.250+00:00`, New: `05.250000000+00:00`, Faults: "2 startedDateTime python"},
		{Name: "one digit", Old: `05.250+00:00`, New: `05.2+00:00`, Faults: "2 startedDateTime python"},
		{Name: "six digits", Old: `05.250+00:00`, New: `05.250000+00:00`},
		{Name: "no digits", Old: `05.250+00:00`, New: `05+00:00`},
		{Name: "zone without a colon", Old: `05.250+00:00`, New: `05.250+0000`, Faults: "2 startedDateTime python"},

		{Name: "h2", Old: get, New: version("h2"), Faults: "1 request.httpVersion httptoolkit,1 request.httpVersion zap,1 request.httpVersion mitmproxy warning"},
		{Name: "unknown", Old: get, New: version("unknown"), Faults: "1 request.httpVersion httptoolkit,1 request.httpVersion zap,1 request.httpVersion mitmproxy warning"},
		{Name: "HTTP/2.0", Old: get, New: version("HTTP/2.0"), Faults: "1 request.httpVersion mitmproxy warning"},
		{Name: "h3", Old: get, New: version("h3"), Faults: "1 request.httpVersion mitmproxy warning"},
		{Name: "http/2.0", Old: get, New: version("http/2.0")},
		{Name: "empty httpVersion", Old: get, New: version("")},
		{Name: "the answer's h2", Old: `"httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Content-Type", "value": "application/json"}]`, New: `"httpVersion": "h2", "cookies": [], "headers": [{"name": "Content-Type", "value": "application/json"}]`,
			Faults: "2 response.httpVersion httptoolkit,2 response.httpVersion zap,2 response.httpVersion mitmproxy warning"},

		{Name: "authority form", Old: url, New: `shop.test:443`, Faults: "2 request.url k6,2 request.url mitmproxy"},
		{Name: "no host", Old: url, New: `https:///`, Faults: "2 request.url httptoolkit,2 request.url openapi,2 request.url k6,2 request.url mitmproxy"},
		{Name: "bad port", Old: url, New: `https://shop.test:66666/`, Faults: "2 request.url httptoolkit,2 request.url openapi,2 request.url k6,2 request.url mitmproxy"},
		{Name: "data url", Old: url, New: `data:text/plain,x`, Faults: "2 request.url k6,2 request.url mitmproxy"},
		{Name: "url beyond ASCII", Old: url, New: `https://shop.test/caf\u00e9`, Faults: "2 request.url mitmproxy"},

		{Name: "two Content-Types", Old: `{"name": "Host", "value": "shop.test"}`, New: `{"name": "content-type", "value": "x"}`, Faults: "2 request.headers k6"},
		{Name: "header without a name", Old: `{"name": "Host", "value": "shop.test"}`, New: `{"name": "", "value": "shop.test"}`, Faults: "2 request.headers[0].name k6"},
		{Name: "cookie without a name", Old: `{"name": "sid", "value": "1"}`, New: `{"name": "", "value": "1"}`, Faults: "1 request.cookies[0].name k6"},
		{Name: "empty method", Old: `"method": "POST"`, New: `"method": ""`, Faults: "2 request.method k6"},
		{Name: "percent in the query", Old: `"value": "a b"`, New: `"value": "100%"`, Faults: "1 request.queryString[0] k6"},
		{Name: "percent that is an escape", Old: `"value": "a b"`, New: `"value": "%C3%A9"`},
		{Name: "percent that is no UTF-8", Old: `"value": "a b"`, New: `"value": "%ff"`, Faults: "1 request.queryString[0] k6"},
		{Name: "percent in a form", Old: `{"name": "qty", "value": "3"}`, New: `{"name": "qty", "value": "3%"}`, Faults: "2 request.postData.params[0] k6"},
		{Name: "params of JSON", Old: `{"mimeType": "application/x-www-form-urlencoded"`, New: `{"mimeType": "application/json"`, Faults: "2 request.postData.params k6"},
		{Name: "variable in a header", Old: `"name": "Host", "value": "shop.test"`, New: `"name": "Host", "value": "${host}"`, Faults: "2 request.headers[0] k6"},
		{Name: "variable in a body", Old: `"text": "qty=3"`, New: `"text": "qty=${n}"`, Faults: "2 request.postData.text k6"},
		{Name: "variable over two lines", Old: `"text": "qty=3"`, New: `"text": "qty=${\n}"`},

		{Name: "stacked codings", Old: `{"name": "set-cookie", "value": "a=b"}`, New: `{"name": "Content-Encoding", "value": "gzip, br"}`, Faults: "1 response.headers mitmproxy"},
		{Name: "one coding", Old: `{"name": "set-cookie", "value": "a=b"}`, New: `{"name": "Content-Encoding", "value": "GZIP"}`},
		{Name: "status 0", Old: `"status": 201`, New: `"status": 0`, Faults: "2 response.status playwright warning"},
		{Name: "body in a file", Old: `"text": "AQID", "encoding": "base64"`, New: `"_file": "a.png"`, Faults: "3 response.content._file playwright warning"},
		{Name: "charset", Old: `"text/html; charset=utf-8"}, {"name": "set-cookie"`, New: `"text/html; charset=iso-8859-1"}, {"name": "set-cookie"`, Faults: "1 response.content.text playwright warning"},
		{Name: "message without data", Old: `, "data": "hello"`, Faults: "3 _webSocketMessages[0].data httptoolkit"},
	}
}

func webArenaCases() []Case {
	const urlencoded = `"application/x-www-form-urlencoded"`
	form := sound[indexOf(urlencoded):indexAfter(`{"mimeType": `+urlencoded)]
	multipart := func(parameter string) string {
		return strings.ReplaceAll(form, urlencoded, `"multipart/form-data; `+parameter+`"`)
	}
	return []Case{
		{Name: "empty url", Old: `https://shop.test/cart`, Faults: "2 request.url har-validator,2 request.url httptoolkit,2 request.url openapi,2 request.url k6,2 request.url mitmproxy,2 request.url webarena"},
		{Name: "half a bracket", Old: `https://shop.test/cart`, New: `http://[::1/x`, Faults: "2 request.url httptoolkit,2 request.url openapi,2 request.url k6,2 request.url mitmproxy,2 request.url webarena"},
		{Name: "method in lower case", Old: `"method": "GET", "url": "https`, New: `"method": "get", "url": "https`, Faults: "1 request.method webarena warning"},
		{Name: "CONNECT first", Old: `"method": "GET", "url": "https`, New: `"method": "CONNECT", "url": "https`, Faults: "1 request.method webarena warning"},
		{Name: "cookie crumbs", Old: `{"name": "host", "value": "shop.test"}`, New: `{"name": "cookie", "value": "b=2"}`, Faults: "1 request.headers webarena warning"},
		{Name: "quoted boundary", Old: form, New: multipart(`boundary=\"x\"`), Faults: "2 request.postData.mimeType webarena warning"},
		{Name: "Boundary", Old: form, New: multipart(`Boundary=x`), Faults: "2 request.postData.mimeType webarena warning"},
		{Name: "boundary", Old: form, New: multipart(`boundary=x`)},
		{Name: "multipart without a value", Old: form + `, "params": [{"name": "qty", "value": "3"}]`, New: multipart(`boundary=x`) + `, "params": [{"name": "qty"}]`, Faults: "2 request.postData.params[0] k6"},
		{Name: "JSON in base64", Old: `"text": "{\"id\":1}"`, New: `"text": "eyJpZCI6MX0=", "encoding": "base64"`, Faults: "2 response.content.encoding webarena warning"},
		{Name: "JSON behind a mark", Old: `"text": "{\"id\":1}"`, New: `"text": "\ufeff{\"id\":1}"`, Faults: "2 response.content.text webarena warning"},
		{Name: "no response cookies", Old: sound[indexOf(`[{"name": "a", "value": "b", "path"`):indexAfter(`"secure": false}]`)], New: `[]`, Faults: "1 response.cookies webarena warning"},
		{Name: "304 of a page", Old: `"status": 200`, New: `"status": 304`, Faults: "1 response.status webarena warning"},
	}
}
