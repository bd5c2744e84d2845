package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// elements are the names of what an SVG holds, which is XML.
func elements(t *testing.T, svg []byte) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return counts
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
}

func TestAFigureHoldsItsLines(t *testing.T) {
	points := []Point{{1, 10}, {10, 90}, {100, 1000}}
	for _, test := range []struct {
		name          string
		lines         []Line
		drawn, points int
	}{
		{"none", nil, 0, 0},
		{"two", []Line{{Name: "a < b", Colour: "red", Points: points}, {Name: "c", Dashed: true, Points: points[:2]}}, 2, 5},
		{"a point", []Line{{Name: "a", Points: points[:1]}}, 1, 1},
		{"what can't be drawn", []Line{{Name: "a", Points: []Point{{0, 1}, {1, 0}, {-1, 1}, {1, math.NaN()}, {1, 1}}}}, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			svg := Figure{[]Chart{{Title: "one & all", Lines: test.lines}, {Title: "again", Lines: test.lines}}}.SVG()
			got := elements(t, svg)
			if got["polyline"] != 2*test.drawn || got["circle"] != 2*test.points {
				t.Errorf("%v in %s", got, svg)
			}
			if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
				t.Errorf("a place that is none: %s", svg)
			}
			if strings.Count(string(svg), "a &lt; b") > 1 {
				t.Errorf("the legend has a line twice: %s", svg)
			}
		})
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		given     []float64
		want      []float64
	}{
		{9, 120, nil, []float64{10, 20, 50, 100}},
		{0.9, 1100, nil, []float64{1, 3, 10, 30, 100, 300, 1000}},
		{0.9, 1.1e5, nil, []float64{1, 10, 100, 1000, 10000, 100000}},
		{9, 120, []float64{1, 16, 256}, []float64{16}},
	} {
		got := Axis{Ticks: test.given}.ticks(scale{low: test.low, high: test.high})
		for i := range got { // a power of ten below 1 is not exact
			got[i] = math.Round(got[i]*1e6) / 1e6
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("from %v to %v: %v, want %v", test.low, test.high, got, test.want)
		}
	}
}

func TestTwiceAsMuchIsAsFarEverywhere(t *testing.T) {
	s := newScale([]float64{1, 1000}, 1, 0, 300)
	if a, b := s.at(2)-s.at(1), s.at(800)-s.at(400); math.Abs(a-b) > 1e-9 || a <= 0 {
		t.Errorf("from 1 to 2 %v, from 400 to 800 %v", a, b)
	}
}

func TestAScaleHoldsItsValues(t *testing.T) {
	for _, test := range []struct {
		values []float64
		factor float64
	}{{nil, 10}, {[]float64{7}, 1}, {[]float64{7}, 10}, {[]float64{7, 8}, 10}, {[]float64{1, 1e9}, 10}} {
		s := newScale(test.values, test.factor, 0, 100)
		if s.high/s.low < test.factor*(1-1e-9) {
			t.Errorf("of %v: from %v to %v, not a factor of %v", test.values, s.low, s.high, test.factor)
		}
		for _, v := range test.values {
			if at := s.at(v); at <= 0 || at >= 100 {
				t.Errorf("%v of %v is at %v", v, test.values, at)
			}
		}
	}
}
