package page

// style is the CSS of the page around its charts.
const style = `*{box-sizing:border-box}
body{margin:0 auto;max-width:784px;padding:24px 16px 48px;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:22px;line-height:1.25;margin:0 0 8px}
h2{font-size:17px;margin:0 0 4px}
header p{margin:0;color:var(--dim)}
section,figure{margin:32px 0 0;padding:0}
code{font:13px ui-monospace,monospace}
.badge{display:inline-block;padding:1px 10px;border-radius:12px;color:var(--paper);background:var(--dim);font-size:13px}
.good{background:var(--c2)}.live{background:var(--c0)}.warn{background:var(--c1)}.bad{background:#cf222e;color:#fff}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:8px}
.tiles div{border:1px solid var(--rule);border-radius:8px;padding:10px 12px}
.tiles b{display:block;font-size:21px;line-height:1.3;font-variant-numeric:tabular-nums}
.tiles span{display:block;font-size:13px}
.tiles small{display:block;font-size:12px;color:var(--dim)}
figcaption{color:var(--dim);font-size:13px;margin-bottom:8px}
.note{margin:6px 0 0}
figcaption h2{color:var(--ink)}
.wide svg,.narrow svg{display:block;max-width:100%;height:auto}
.narrow{display:none}
.legend{margin:0 0 4px;font-size:13px}
.legend span{margin-right:12px;white-space:nowrap}
.swatch{display:inline-block;width:10px;height:10px;margin-right:5px;border-radius:2px}
.swatch.c0{background:var(--c0)}.swatch.c1{background:var(--c1)}.swatch.c2{background:var(--c2)}.swatch.c3{background:var(--c3)}.swatch.c4{background:var(--c4)}
.pairs{margin:0 0 12px}
.pairs div{display:flex;gap:12px;padding:2px 0}
.pairs dt{flex:0 0 130px;color:var(--dim)}
.pairs dd{margin:0;flex:1;min-width:0}
.steps{margin:0}
.steps dt code{display:block;padding:6px 10px;border:1px solid var(--rule);border-radius:6px}
.steps dd{margin:2px 0 10px;color:var(--dim);font-size:13px}
.scroll{overflow-x:auto;margin:0 0 12px}
table{border-collapse:collapse;font-size:13px;min-width:100%}
th{text-align:left;font-weight:600;color:var(--dim)}
th,td{padding:4px 14px 4px 0;border-bottom:1px solid var(--rule);vertical-align:top;overflow-wrap:normal}
td.long,th.long{min-width:220px}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
summary{cursor:pointer;font-size:13px;color:var(--dim);margin-bottom:6px}
.wrong{color:#cf222e;font-weight:600}
footer{margin-top:40px;font-size:12px;color:var(--dim)}
@media (max-width:759px){.wide{display:none}.narrow{display:block}.pairs dt{flex-basis:96px}}
@media (prefers-color-scheme:dark){.wrong{color:#ff7b72}}
@media print{body{max-width:none}.scroll{overflow:visible}}
`
