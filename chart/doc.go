// Package chart draws small charts as SVG: lines over a common axis, with bands and marked values, and stacked bars.
//
// The caller's duties, in order: fill in a Lines or Bars. Call SVG with the width in pixels at which the chart is
// shown, since text keeps its size. Put Style into the page once, or call File for a standalone picture.
//
// The package returns no error: values that are not finite are left out of a line, and a chart without a point says so.
// Every string of the caller is escaped. Colours follow prefers-color-scheme.
package chart
