package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// shop stands in for the sites that graders send agents to: a sign-in by a form,
// an item saved as JSON, a file uploaded, prices in each coding, pages to go to.
// dead is where nobody listens.
func shop(t *testing.T, dead string) http.Handler {
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, title, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><link rel=icon href=data:,><h1>%[1]s</h1>%s", title, body)
	}
	signedIn := func(w http.ResponseWriter, r *http.Request) bool {
		if c, err := r.Cookie("session"); err == nil && c.Value == "s%3A1.a+b/c=" {
			return true
		}
		w.WriteHeader(http.StatusForbidden)
		page(w, "Forbidden", "")
		return false
	}
	mux.HandleFunc("GET /shop/login", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Sign in", `<form method=post action=/shop/login>
<input name=username><input name=password type=password><input type=hidden name=_key value="a b&c=ž%"><button>Sign in</button></form>`)
	})
	mux.HandleFunc("POST /shop/login", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("username") != "emma" || r.FormValue("password") != "pass word+1" {
			w.WriteHeader(http.StatusUnauthorized)
			page(w, "No", "")
			return
		}
		w.Header().Add("Set-Cookie", "session=s%3A1.a+b/c=; Path=/; HttpOnly; SameSite=Lax")
		w.Header().Add("Set-Cookie", "mage-messages=%5B%7B%22text%22%3A%22Welcome%2C+Emma%22%7D%5D; Path=/; Max-Age=3600")
		w.Header().Set("Location", "/shop/account")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("GET /shop/account", func(w http.ResponseWriter, r *http.Request) {
		if signedIn(w, r) {
			w.Header().Add("Set-Cookie", "visited=account; Path=/shop; SameSite=Strict")
			w.Header().Add("Set-Cookie", "visits=%22one%22; Path=/; HttpOnly; Max-Age=3600")
			page(w, "Account", `<a href="/shop/item/7?tab=reviews&sort%5Bby%5D=new">Shoes</a>
<form method=post action=/shop/upload enctype=multipart/form-data><input name=note value="first 1 &amp; last"><input name=file type=file><button id=send>Send</button></form>
<button id=save>Save</button><button id=prices>Prices</button><button id=lost>Lost</button><button id=gone>Gone</button><link rel=stylesheet href=/shop/style.css><pre id=said></pre><script src=/shop/account.js></script>`)
		}
	})
	mux.HandleFunc("GET /shop/account.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Header().Set("Cache-Control", "max-age=3600")
		io.WriteString(w, strings.ReplaceAll(accountScript, "{dead}", dead))
	})
	mux.HandleFunc("GET /shop/style.css", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "style.css", time.Time{}, strings.NewReader("h1 { color: teal }\n"))
	})
	mux.HandleFunc("POST /shop/api/items", func(w http.ResponseWriter, r *http.Request) {
		if !signedIn(w, r) {
			return
		}
		var item map[string]any
		if err := json.NewDecoder(r.Body).Decode(&item); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "cart=\"1 item\"; Path=/; SameSite=Lax")
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(map[string]any{"id": 41, "saved": item})
	})
	mux.HandleFunc("DELETE /shop/api/items/41", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /shop/api/prices/{coding}", func(w http.ResponseWriter, r *http.Request) {
		coding := r.PathValue("coding")
		body, err := encode(coding, fmt.Appendf(nil, `{"coding":%q,"items":[{"name":"Žluté boty","price":"19.90"},{"name":"Shoes","price":24.5}],"total":2}`, coding))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Encoding", coding)
		w.Write(body)
	})
	mux.HandleFunc("POST /shop/upload", func(w http.ResponseWriter, r *http.Request) {
		if !signedIn(w, r) {
			return
		}
		file, header, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer file.Close()
		hash := sha256.New()
		io.Copy(hash, file)
		page(w, "Uploaded", fmt.Sprintf("<p>%s %s %s", html.EscapeString(r.FormValue("note")), html.EscapeString(header.Filename), hex.EncodeToString(hash.Sum(nil))))
	})
	mux.HandleFunc("GET /shop/item/7", func(w http.ResponseWriter, r *http.Request) {
		if signedIn(w, r) {
			page(w, "Shoes", "<a href=/shop/dashboard/todos?state=pending>Todos</a><p>"+html.EscapeString(r.URL.RawQuery)+"<p>by "+html.EscapeString(r.Referer()[strings.Index(r.Referer(), "/shop"):]))
		}
	})
	mux.HandleFunc("GET /shop/dashboard/todos", func(w http.ResponseWriter, r *http.Request) {
		if signedIn(w, r) {
			page(w, "Todos", "<p>"+html.EscapeString(r.URL.Query().Get("state")))
		}
	})
	return mux
}

const accountScript = `
const said = document.getElementById('said')
const say = (...words) => { said.textContent += words.join(' ') + '\n' }
const does = (id, f) => {
  document.getElementById(id).onclick = async () => { await f(); say(id, 'done') }
}
does('save', async () => {
  const item = { name: 'Žluté boty', qty: 2, tags: ['a', 'b'], note: { text: 'lgtm' } }
  const r = await fetch('/shop/api/items', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(item) })
  say(r.status, await r.text())
  say((await fetch('/shop/api/items/41', { method: 'DELETE' })).status)
})
does('prices', async () => {
  for (const coding of ['gzip', 'deflate', 'br', 'zstd']) say(JSON.stringify(await (await fetch('/shop/api/prices/' + coding)).json()))
})
does('lost', () => fetch('http://{dead}/dummy_bin', { method: 'POST', body: 'lost=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }).then(() => say('answered'), () => say('failed')))
does('gone', () => Promise.allSettled([
  fetch('http://{dead}/gone', { mode: 'no-cors' }),
  fetch('http://127.0.0.1:6666/blocked', { mode: 'no-cors' }), // a bad port (Fetch §2.9)
  fetch(location.origin.replace('127.0.0.1', 'localhost') + '/echo?preflighted', { method: 'PUT', headers: { 'X-Asked': '1' } })
]))
`
