package main

import (
	"strings"
	"testing"
)

func TestCommandAt(t *testing.T) {
	for argv, want := range map[string]string{
		"chromium url":                          "chromium url",
		"/usr/bin/chromium --x":                 "/usr/bin/chromium --x",
		"env chromium url":                      "chromium url",
		"/usr/bin/env -i A=b C= chromium url":   "chromium url",
		"env -u A -uB --unset C -C / -- A=b c":  "c",
		"env - chromium":                        "chromium",
		"nice chromium a=b":                     "chromium a=b",
		"nice -n 5 chromium":                    "chromium",
		"nice -n5 chromium":                     "chromium",
		"nice -5 chromium":                      "chromium",
		"nice --adjustment 5 chromium":          "chromium",
		"nice --adjustment=5 chromium":          "chromium",
		"timeout 5 chromium":                    "chromium",
		"timeout -k 1 -s KILL 5 chromium":       "chromium",
		"timeout --foreground -vk1 5m chromium": "chromium",
		"xvfb-run chromium":                     "chromium",
		"xvfb-run -a chromium":                  "chromium",
		"xvfb-run -as x chromium -n 5":          "chromium -n 5",
		"xvfb-run --server-args x -l chromium":  "chromium",
		"dbus-run-session -- chromium":          "chromium",
		"env A=b nice -n 1 xvfb-run -a nohup stdbuf -oL setsid -w time -v ionice -c3 google-chrome --x": "google-chrome --x",

		// What only names one is none.
		"xvfb-run npx playwright test --project chromium": "npx playwright test --project chromium",
		"xvfb-run -a npx chromium":                        "npx chromium",
		"env chromium=1 node x":                           "node x",
		"timeout 9 env -u chromium firefox":               "firefox",
		"sh -c chromium":                                  "sh -c chromium",
		"nice":                                            "",
		"nice -n":                                         "",
		"timeout 5":                                       "",
		"env A=b":                                         "",
		"":                                                "",
	} {
		words := strings.Fields(argv)
		if got := strings.Join(words[commandAt(words):], " "); got != want {
			t.Errorf("%s: the command is %q, want %q", argv, got, want)
		}
	}
}
