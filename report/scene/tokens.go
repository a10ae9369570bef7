package scene

import (
	"fmt"
	"strings"
)

// Role is what a mark is for. Its colours are in Tokens.
type Role uint8

// The roles of marks.
const (
	None     Role = iota // nothing is drawn
	Bg                   // the background of a page
	Card                 // the background of a box on it, and of a region where nothing can be
	Ink                  // text, points, the line of a value
	Muted                // secondary text, intervals
	Grid                 // lines behind the data
	Axis                 // axes, outlines of bands, the diagonal
	Band                 // where chance would put a calibrated model
	Hist                 // bars that count rows
	Over                 // too sure, too high
	Under                // not sure enough, too low
	OverText             // words about it
	UnderText
	OverPale // the same within chance
	UnderPale
	Ideal // curves, the ideal value, links
	Set2  // further sets in one picture; the first is Ideal
	Set3
	Set4
	Set5
	Set6
	Set7
	roles // their number
)

// Use says what a colour is for, and so how much contrast it needs.
type Use uint8

// The uses of colours.
const (
	Surface Use = iota // others are in front of it
	Words              // at least 4.5:1 on Bg and Card
	Shape              // at least 3:1 on Bg and Card
	Quiet              // behind what matters, outlined in Axis, or repeated by a shape
)

// Token is a role with its colours, as 0xRRGGBB.
type Token struct {
	Role        Role
	Name        string // of its CSS classes and variable
	Light, Dark uint32
	Use         Use
}

var tokens = [roles]Token{
	Bg:        {Bg, "bg", 0xffffff, 0x14171a, Surface},
	Card:      {Card, "card", 0xf6f8fa, 0x1c2025, Surface},
	Ink:       {Ink, "ink", 0x1a1d21, 0xe8eaed, Words},
	Muted:     {Muted, "muted", 0x59636e, 0xa3adb8, Words},
	Grid:      {Grid, "grid", 0xdfe3e8, 0x2c3238, Quiet},
	Axis:      {Axis, "axis", 0x858e98, 0x727c87, Shape},
	Band:      {Band, "band", 0xe3e7ec, 0x2f363d, Quiet},
	Hist:      {Hist, "hist", 0x858e98, 0x727c87, Shape},
	Over:      {Over, "over", 0xc24e00, 0xff8f4d, Shape},
	Under:     {Under, "under", 0x007a5a, 0x3ecf9f, Shape},
	OverText:  {OverText, "overt", 0xa84300, 0xffa266, Words},
	UnderText: {UnderText, "undert", 0x00694d, 0x5fdab0, Words},
	OverPale:  {OverPale, "overp", 0xedc9b3, 0x66412c, Quiet},
	UnderPale: {UnderPale, "underp", 0xadd5ca, 0x235748, Quiet},
	Ideal:     {Ideal, "ideal", 0x0067a8, 0x6ab4f0, Words},
	Set2:      {Set2, "set2", 0xc24e00, 0xff8f4d, Shape},
	Set3:      {Set3, "set3", 0x007a5a, 0x3ecf9f, Shape},
	Set4:      {Set4, "set4", 0x9c3f7d, 0xe79ac8, Shape},
	Set5:      {Set5, "set5", 0x8a6300, 0xd9ab45, Shape},
	Set6:      {Set6, "set6", 0x1a1d21, 0xe8eaed, Shape},
	Set7:      {Set7, "set7", 0x6b4fc0, 0xb3a0ff, Shape},
}

// Tokens returns the colours of all roles but None.
func Tokens() []Token { return append([]Token(nil), tokens[Bg:]...) }

// Token returns the colours of a role, of None those of Bg.
func (r Role) Token() Token {
	if r == None {
		r = Bg
	}
	return tokens[r]
}

// hex returns a colour as CSS has it, #fff for #ffffff.
func hex(c uint32) string {
	s := fmt.Sprintf("%06x", c)
	if s[0] == s[1] && s[2] == s[3] && s[4] == s[5] {
		s = s[:1] + s[2:3] + s[4:5]
	}
	return "#" + s
}

// Fonts is the list of fonts of texts, as CSS has it.
const Fonts = `"Liberation Sans",Arial,Helvetica,sans-serif`

// CSS returns the style sheet for Inline: the colours as variables named as in Tokens (--ink, --over), light or dark as the reader
// prefers and light on paper, and the rules of the classes. The rules hold inside of svg elements of class "pic" only. Text takes the
// font of the page, which should be about as wide as Liberation Sans; on screens up to 760 px wide it is a tenth larger.
func CSS() string {
	var b strings.Builder
	root := func(dark bool) {
		b.WriteString(":root{")
		for i, t := range tokens[Bg:] {
			c := t.Light
			if dark {
				c = t.Dark
			}
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, "--%s:%s", t.Name, hex(c))
		}
		b.WriteString("}")
	}
	root(false)
	b.WriteString("@media screen and (prefers-color-scheme:dark){")
	root(true)
	b.WriteString("}\n.pic{display:block;width:100%;height:auto;overflow:visible}.pic text{fill:var(--ink)}")
	for _, t := range tokens[Bg:] {
		fmt.Fprintf(&b, ".pic .f-%s{fill:var(--%[1]s)}.pic .s-%[1]s{stroke:var(--%[1]s)}", t.Name)
	}
	b.WriteString(".pic .n{fill:none}.pic .b{font-weight:650}.pic .m{text-anchor:middle}.pic .e{text-anchor:end}.pic .pt:hover circle,.pic .pt:hover rect{stroke:var(--ink)}")
	sizes := func(times float64) {
		for z := Normal; z <= Head; z++ {
			sel := fmt.Sprintf(" .z%d", z)
			if z == Normal {
				sel = " text"
			}
			fmt.Fprintf(&b, ".pic%s{font-size:%spx}", sel, number(Hundredths(float64(z.Points()*times)), 1))
		}
	}
	// The size of any text comes before those of classes, which are as specific.
	b.WriteString("\n")
	sizes(1)
	b.WriteString("@media screen and (max-width:760px){")
	sizes(1.1)
	b.WriteString("}\n")
	return b.String()
}
