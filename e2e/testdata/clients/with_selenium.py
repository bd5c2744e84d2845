"""Selenium has Chromium open pages, by the lines of docs/trust.md.

Arguments: a file with these lines, the URLs, and behind -- more switches for Chromium.
"""
import os
import sys

from selenium import webdriver

at = sys.argv.index("--")
lines, urls, switches = open(sys.argv[1]).read(), sys.argv[2:at], sys.argv[at + 1:]
start = lines.index("driver = ")
exec(lines[:start])
for switch in switches:
    options.add_argument(switch)
exec(lines[start:])
try:
    for url in urls:
        driver.get(url)
        print(driver.execute_script("return document.readyState"))
finally:
    driver.quit()
