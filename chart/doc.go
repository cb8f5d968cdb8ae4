// Package chart draws small charts as SVG: lines over a common axis, and stacked bars.
//
// The caller's duties, in order: fill in a Lines or Bars; call SVG with the width in pixels that the chart is shown at, since
// text keeps its size; put Style into the page once, or call File for a picture that stands alone.
//
// The package refuses nothing: what is no finite number is left out of a line, and a chart without a point says so. Every string of the caller
// is escaped. Colours follow prefers-color-scheme.
package chart
