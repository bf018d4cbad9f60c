/*
 * Improves the page at /, which works without it: sends the forms in the background with progress and a clock, shows the
 * answer below the form, takes dropped files. Answers are the service's own pages: their sections are copied as nodes
 * (scripts in them never run); nothing here makes markup of text.
 */
"use strict";

const CLOCK_MS = 100;

function el(name, className, text) {
	const node = document.createElement(name);
	if (className)
		node.className = className;
	if (text !== undefined)
		node.textContent = text;
	return node;
}

function sizeText(bytes) {
	if (bytes < 1000)
		return bytes + " B";
	const units = ["kB", "MB", "GB"];
	let value = bytes / 1000, i = 0;
	while (value >= 999.5 && i < units.length - 1) {
		value /= 1000;
		i++;
	}
	return value.toFixed(value < 10 ? 1 : 0) + " " + units[i];
}

/* Answers */

function errorSection(message, hint) {
	const section = el("section", "error");
	section.append(el("h2", "", "That did not work"), el("p", "message", message));
	if (hint)
		section.append(el("p", "hint", hint));
	return [section];
}

/* nginx answers in JSON when the service can't; anything else is not from here. */
function plainError(xhr) {
	let error = null;
	try {
		error = JSON.parse(xhr.responseText).error;
	} catch (e) {
		/* Not JSON: the status has to do. */
	}
	if (error && typeof error.message === "string")
		return errorSection(error.message, typeof error.hint === "string" ? error.hint : "");
	return errorSection("The server answered with status " + xhr.status + ".", "");
}

/* This page has its h1 and the program; ids must not meet those of another form's answer. */
function adapt(section, prefix) {
	for (const old of section.querySelectorAll("h1")) {
		const h2 = el("h2");
		if (old.id)
			h2.id = old.id;
		h2.append(...old.childNodes);
		old.replaceWith(h2);
	}
	for (const node of section.querySelectorAll(".back, details, script, style"))
		node.remove();
	for (const node of section.querySelectorAll("[id]"))
		node.id = prefix + node.id;
	for (const name of ["aria-labelledby", "aria-describedby", "for"])
		for (const node of [section, ...section.querySelectorAll("[" + name + "]")])
			if (node.hasAttribute(name))
				node.setAttribute(name, prefix + node.getAttribute(name));
	return section;
}

function sectionsOf(xhr, prefix) {
	const type = xhr.getResponseHeader("Content-Type") || "";
	if (!type.startsWith("text/html"))
		return plainError(xhr);
	const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
	const found = [...page.querySelectorAll("main > section")];
	if (!found.length)
		return plainError(xhr);
	return found.map((s) => adapt(document.importNode(s, true), prefix));
}

/* A form that sends itself */

class Sender {
	constructor(form, words) {
		this.form = form;
		this.words = words;
		this.submit = form.querySelector("[type=submit]");
		this.stop = form.querySelector(".stop");
		this.status = form.querySelector(".status");
		this.clock = form.querySelector(".clock");
		this.progress = form.querySelector("progress");
		this.outcome = form.parentNode.querySelector(".outcome");
		this.xhr = null;
		form.addEventListener("submit", (e) => {
			e.preventDefault();
			this.send();
		});
		this.stop.addEventListener("click", () => this.xhr && this.xhr.abort());
	}

	send() {
		if (this.xhr)
			return;
		const xhr = this.xhr = new XMLHttpRequest();
		xhr.open("POST", this.form.action);
		xhr.setRequestHeader("Accept", "text/html");
		xhr.upload.addEventListener("progress", (e) => this.onProgress(e));
		xhr.upload.addEventListener("load", () => this.onSent());
		xhr.addEventListener("load", () => this.end("", sectionsOf(xhr, this.form.id + "-answer-")));
		xhr.addEventListener("abort", () => this.end("Stopped.", []));
		xhr.addEventListener("error", () => this.end("", errorSection("The connection failed before there was an answer.",
			"The service may be down, or the files may be more than it takes. Nothing here is lost: try again.")));
		this.begin();
		xhr.send(new FormData(this.form));
	}

	begin() {
		const files = this.form.querySelector("[type=file]").files.length;
		this.outcome.replaceChildren();
		this.outcome.setAttribute("aria-busy", "true");
		/* Not disabled: that would take the keyboard focus away. */
		this.submit.setAttribute("aria-disabled", "true");
		this.stop.hidden = false;
		this.progress.value = 0;
		this.progress.hidden = !files;
		this.status.textContent = files ? "Uploading" : this.words.working;
		this.start = performance.now();
		this.timer = setInterval(() => this.tick(), CLOCK_MS);
		this.tick();
	}

	tick() {
		this.clock.hidden = false;
		this.clock.textContent = ((performance.now() - this.start) / 1000).toFixed(1) + " s";
	}

	onProgress(e) {
		if (e.lengthComputable && e.total)
			this.progress.value = 100 * e.loaded / e.total;
	}

	/* The program's time is what counts from here. */
	onSent() {
		this.progress.hidden = true;
		this.status.textContent = this.words.working;
		this.start = performance.now();
	}

	end(text, sections) {
		clearInterval(this.timer);
		this.xhr = null;
		this.submit.removeAttribute("aria-disabled");
		if (document.activeElement === this.stop)
			this.submit.focus();
		this.stop.hidden = true;
		this.clock.hidden = true;
		this.progress.hidden = true;
		this.outcome.removeAttribute("aria-busy");
		this.outcome.replaceChildren(...sections);
		const bad = sections.some((s) => s.classList.contains("error"));
		this.status.textContent = text || (bad ? "Failed." : this.words.done);
		if (sections.length)
			sections[0].scrollIntoView({ block: "nearest" });
		if (!bad && sections.length)
			this.form.dispatchEvent(new Event("sent"));
	}
}

/* Chosen and dropped files */

class Chooser {
	constructor(form) {
		this.form = form;
		this.input = form.querySelector("[type=file]");
		this.list = form.querySelector(".chosen");
		this.depth = 0;
		this.input.addEventListener("change", () => this.show());
		form.addEventListener("reset", () => setTimeout(() => this.show()));
		form.addEventListener("dragenter", (e) => this.over(e, 1));
		form.addEventListener("dragleave", (e) => this.over(e, -1));
		form.addEventListener("drop", (e) => this.drop(e));
		this.show();
	}

	over(e, step) {
		if (!hasFiles(e))
			return;
		this.depth += step;
		this.form.classList.toggle("over", this.depth > 0);
	}

	drop(e) {
		if (!hasFiles(e))
			return;
		e.preventDefault();
		this.depth = 0;
		this.form.classList.remove("over");
		const dropped = [...e.dataTransfer.files];
		const names = new Set(dropped.map((f) => f.name));
		this.set([...this.input.files].filter((f) => !names.has(f.name)).concat(dropped));
	}

	set(files) {
		const all = new DataTransfer();
		for (const file of files)
			all.items.add(file);
		this.input.files = all.files;
		this.show();
	}

	show() {
		const files = [...this.input.files];
		this.list.hidden = !files.length;
		this.list.replaceChildren(...files.map((file, i) => {
			const item = el("li"), remove = el("button", "remove", "Remove");
			remove.type = "button";
			remove.setAttribute("aria-label", "Remove " + file.name);
			remove.addEventListener("click", () => {
				this.set([...this.input.files].filter((f, k) => k !== i));
				this.input.focus();
			});
			item.append(el("span", "name", file.name), el("span", "size", sizeText(file.size)), remove);
			return item;
		}));
	}
}

function hasFiles(e) {
	return Boolean(e.dataTransfer) && [...e.dataTransfer.types].includes("Files");
}

/* A file that misses the forms would replace the page, and the code with it. */
function guardDrops() {
	window.addEventListener("dragover", (e) => {
		if (!hasFiles(e))
			return;
		e.preventDefault();
		e.dataTransfer.dropEffect = e.target.closest && e.target.closest("form") ? "copy" : "none";
	});
	window.addEventListener("drop", (e) => hasFiles(e) && e.preventDefault());
}

function start() {
	const run = document.getElementById("run"), upload = document.getElementById("upload");
	new Sender(run, { working: "Running", done: "Done." });
	new Sender(upload, { working: "Storing", done: "Stored." });
	new Chooser(run);
	new Chooser(upload);
	/* What is stored need not be sent once more. */
	upload.addEventListener("sent", () => upload.reset());
	run.addEventListener("keydown", (e) => {
		if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			run.requestSubmit();
		}
	});
	guardDrops();
	for (const node of document.querySelectorAll(".scripted"))
		node.hidden = false;
}

start();
