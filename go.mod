module github.com/lightmem/lightmem

go 1.26.8
