package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table prints rows with columns as wide as their widest cell; the last one is as it is.
type table struct {
	head []string // for a person at a terminal alone
	rows [][]string
	dim  int // the column that is painted dim
}

func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = printable(strings.ReplaceAll(cell, "\n", " "))
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print(out io.Writer, terminal bool, p paint) {
	rows := t.rows
	if terminal && len(rows) > 0 {
		rows = append([][]string{t.head}, rows...)
	}
	widths := make([]int, len(t.head))
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			text := cell
			if i == t.dim || terminal && n == 0 {
				text = p.dim(cell)
			}
			fill := "\n"
			if i < len(row)-1 {
				fill = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			}
			fmt.Fprint(out, text, fill)
		}
	}
}
