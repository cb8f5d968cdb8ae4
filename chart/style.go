package chart

// colours is how many there are before they begin again.
const colours = 5

// Light and Dark are the colours of charts as CSS declarations, for the element that contains them and the page around.
// They also differ in lightness, so that they can be told apart without colour vision.
const (
	Light = "--paper:#fff;--ink:#1f2328;--dim:#59636e;--rule:#d1d9e0;--c0:#0969da;--c1:#bc4c00;--c2:#1a7f37;--c3:#8250df;--c4:#9198a1;"
	Dark  = "--paper:#0d1117;--ink:#f0f6fc;--dim:#9198a1;--rule:#3d444d;--c0:#58a6ff;--c1:#f0883e;--c2:#3fb950;--c3:#bc8cff;--c4:#656c76;"
)

// Style is the CSS rules of charts.
const Style = `.chart text{font:12px system-ui,sans-serif;fill:var(--ink)}
.chart .tick,.chart .note{fill:var(--dim)}
.chart .grid{stroke:var(--rule);stroke-width:1;fill:none}
.chart .axis{stroke:var(--dim);stroke-width:1;fill:none}
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round}
.chart .line.c0{stroke:var(--c0)}.chart .line.c1{stroke:var(--c1)}.chart .line.c2{stroke:var(--c2)}.chart .line.c3{stroke:var(--c3)}.chart .line.c4{stroke:var(--c4)}
.chart .dot.c0,.chart .bar.c0,.chart .name.c0{fill:var(--c0)}.chart .dot.c1,.chart .bar.c1,.chart .name.c1{fill:var(--c1)}
.chart .dot.c2,.chart .bar.c2,.chart .name.c2{fill:var(--c2)}.chart .dot.c3,.chart .bar.c3,.chart .name.c3{fill:var(--c3)}
.chart .dot.c4,.chart .bar.c4,.chart .name.c4{fill:var(--c4)}
.chart .band{opacity:.15;stroke:none}
.chart .band.c0{fill:var(--c0)}.chart .band.c1{fill:var(--c1)}.chart .band.c2{fill:var(--c2)}.chart .band.c3{fill:var(--c3)}.chart .band.c4{fill:var(--c4)}
.chart .spot{fill:none;stroke:var(--ink);stroke-width:2}
.chart .name,.chart .spotted{font-weight:600}
`
