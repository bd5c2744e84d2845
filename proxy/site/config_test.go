package site

import (
	"strings"
	"testing"
)

func TestReadConfig(t *testing.T) {
	c, err := ReadConfig(strings.NewReader(`{"user": "agent", "network_log": "", "forward_port": 0, "allow_hosts": [], "nameservers": null,
		"sites": [{"name": "notes", "upstream": "http://gw/", "upstream_headers": {"X-Key": "1"}, "live": false}]}`))
	if err != nil {
		t.Fatal(err)
	}
	https, http, domain, forward := c.Ports()
	if c.User != "agent" || c.LogPath() != "" || c.AllowHosts == nil || c.Nameservers != nil || c.Sites[0].UpstreamHeaders["X-Key"] != "1" ||
		https != 443 || http != 80 || domain != 53 || forward != 0 || c.Address() != "127.0.0.1" || c.Life() != defaultValidFor {
		t.Errorf("%+v", c)
	}
	c, err = ReadConfig(strings.NewReader(`{}`))
	if _, _, _, forward := c.Ports(); err != nil || c.AllowHosts != nil || c.LogPath() != "/etc/agentenv/sites/network.jsonl" || c.OwnLogPath() != "/etc/agentenv/sites/site-proxy.log" || forward != -1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestReadConfigRefuses(t *testing.T) {
	for config, want := range map[string][]string{
		`{"sites": [{"name": "a", "domain": ["x"], "live": "yes"}, {"Name": "b"}], "ports": 1, "user": 7}`: {
			`"sites" 1: unknown key "domain"`, `"sites" 1: "live": string where true or false was due`, `"sites" 2: unknown key "Name"`,
			`unknown key "ports"`, `"user": number where a string was due`,
		},
		`{"user": "a", "user": "b"}`:            {`the key "user" comes twice`},
		`{"sites": {}}`:                         {`"sites": object where a list was due`},
		`{"sites": [1]}`:                        {`"sites" 1: no JSON object`},
		`{"https_port": 1.5, "allow_hosts": 1}`: {`"https_port": number 1.5 where a whole number was due`, `"allow_hosts": number where a list was due`},
		`[]`:                                    {`no JSON object`},
		``:                                      {`no whole JSON object`},
		`{"user": "a"`:                          {`no whole JSON object`},
		`{} {}`:                                 {`something behind the JSON object`},
		`{"sites": [{"upstream_headers": []}]}`: {`"sites" 1: "upstream_headers": array where an object was due`},
	} {
		_, err := ReadConfig(strings.NewReader(config))
		if err == nil {
			t.Errorf("%s: no error", config)
			continue
		}
		if got := strings.Split(err.Error(), "\n"); len(got) != len(want) {
			t.Errorf("%s: %q", config, got)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q, want %q", config, err, w)
			}
		}
	}
}
