// Package plot draws line charts as SVG, which any browser shows and no library
// has to be kept for.
//
//	f := plot.Figure{Charts: []plot.Chart{{Title: "CPU", X: x, Y: y, Lines: lines}}}
//	err := os.WriteFile("cpu.svg", f.SVG(), 0o644)
//
// Both axes of every chart are logarithmic, and an ordinate is a factor of ten at
// least, so that small differences look small. There is no background: what is
// written is readable on white and on black.
package plot

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
)

// A Figure is some charts side by side under one legend, which names the lines by
// their colours.
type Figure struct {
	Charts []Chart
}

// A Chart is one of them.
type Chart struct {
	Title string
	X, Y  Axis
	Lines []Line
}

// An Axis says how its values are written.
type Axis struct {
	Label string
	Write func(float64) string // nil: as a number
	Ticks []float64            // nil: 1, 2 and 5 of each power of ten, or less of them where they are many
}

// A Line is drawn through its points in their order.
type Line struct {
	Name   string // in the legend, once for all charts; "": it is not named
	Colour string // of CSS
	Dashed bool
	Points []Point
}

// A Point has values above 0; one that has not is left out.
type Point struct{ X, Y float64 }

// Sizes are pixels of an SVG that is shown as it is.
const (
	width, height = 330, 280 // of a chart
	left, right   = 62, 12   // of them beside the lines
	top, bottom   = 56, 44
)

const ink = "#7a828c" // of what is written and ruled: readable on both

// SVG draws the figure.
func (f Figure) SVG() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="system-ui, sans-serif" font-size="11" fill="%s">`+"\n", width*len(f.Charts), height, ink)
	f.legend(&b)
	for i, c := range f.Charts {
		fmt.Fprintf(&b, "<g transform=\"translate(%d 0)\">\n", i*width)
		c.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (f Figure) legend(b *bytes.Buffer) {
	var named []string
	x := left
	for _, c := range f.Charts {
		for _, l := range c.Lines {
			if l.Name == "" || slices.Contains(named, l.Name) {
				continue
			}
			named = append(named, l.Name)
			fmt.Fprintf(b, `<line x1="%d" y1="12" x2="%d" y2="12" stroke="%s" stroke-width="3"/><text x="%d" y="16">%s</text>`+"\n",
				x, x+22, l.Colour, x+28, html.EscapeString(l.Name))
			x += 50 + 7*len(l.Name)
		}
	}
}

func (c Chart) draw(b *bytes.Buffer) {
	var xs, ys []float64
	for i := range c.Lines {
		c.Lines[i].Points = slices.DeleteFunc(slices.Clone(c.Lines[i].Points), func(p Point) bool { return !(p.X > 0) || !(p.Y > 0) })
		for _, p := range c.Lines[i].Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	x, y := newScale(xs, 1, left, width-right), newScale(ys, 10, height-bottom, top)
	fmt.Fprintf(b, `<text x="%d" y="40" font-size="13" font-weight="600">%s</text>`+"\n", left, html.EscapeString(c.Title))
	text(b, (left+width-right)/2, height-8, "middle", c.X.Label)
	for _, tick := range c.X.ticks(x) {
		at := x.at(tick)
		rule(b, at, top, at, height-bottom)
		text(b, at, height-bottom+15, "middle", c.X.write(tick))
	}
	for _, tick := range c.Y.ticks(y) {
		at := y.at(tick)
		rule(b, left, at, width-right, at)
		text(b, left-6, at+4, "end", c.Y.write(tick))
	}
	for _, l := range c.Lines {
		l.draw(b, x, y)
	}
}

func rule(b *bytes.Buffer, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-opacity="0.25"/>`, x1, y1, x2, y2, ink)
}

func text(b *bytes.Buffer, x, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
}

func (l Line) draw(b *bytes.Buffer, x, y scale) {
	dash := ""
	if l.Dashed {
		dash = ` stroke-dasharray="5 4"`
	}
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round"%s points="`, l.Colour, dash)
	for _, p := range l.Points {
		fmt.Fprintf(b, "%.1f,%.1f ", x.at(p.X), y.at(p.Y))
	}
	b.WriteString("\"/>")
	for _, p := range l.Points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`, x.at(p.X), y.at(p.Y), l.Colour)
	}
	b.WriteString("\n")
}

// A scale puts values from low to high on pixels.
type scale struct {
	low, high float64
	from, to  float64
}

// newScale is for all of the values, somewhat more on either side, and a factor at
// least between its ends.
func newScale(values []float64, factor, from, to float64) scale {
	s := scale{low: 1, high: 10, from: from, to: to}
	if len(values) > 0 {
		s.low, s.high = slices.Min(values), slices.Max(values)
		spare := max(math.Pow(s.high/s.low, 0.05), 1.2, math.Sqrt(factor*s.low/s.high))
		s.low, s.high = s.low/spare, s.high*spare
	}
	return s
}

func (s scale) at(v float64) float64 {
	return s.from + (s.to-s.from)*math.Log(v/s.low)/math.Log(s.high/s.low)
}

// ticks are those that lie on the scale.
func (a Axis) ticks(s scale) []float64 {
	on := func(all []float64) (inside []float64) {
		for _, v := range all {
			if v >= s.low && v <= s.high {
				inside = append(inside, v)
			}
		}
		return inside
	}
	if a.Ticks != nil {
		return on(a.Ticks)
	}
	for _, steps := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		var all []float64
		for power := math.Floor(math.Log10(s.low)); power <= math.Log10(s.high); power++ {
			for _, step := range steps {
				all = append(all, step*math.Pow(10, power))
			}
		}
		if all = on(all); len(all) <= 8 || len(steps) == 1 {
			return all
		}
	}
	return nil
}

func (a Axis) write(v float64) string {
	if a.Write != nil {
		return a.Write(v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
