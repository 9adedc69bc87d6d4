module github.com/openworkerai/openworker

go 1.26.8
