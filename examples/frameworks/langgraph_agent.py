"""A graph of LangGraph: a model node and a tool node, over streamed chat completions."""

import arh_lines
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

task = arh_lines.task()


def tool_of(spec: dict) -> StructuredTool:
    """Return a tool of the framework that hands its calls to the gateway."""

    def invoke(**arguments: object) -> str:
        return arh_lines.call(spec["name"], arguments)

    return StructuredTool.from_function(
        invoke,
        name=spec["name"],
        description=spec["description"],
        args_schema=spec["parameters"],
    )


tools = [tool_of(spec) for spec in task["tools"]]
model = ChatOpenAI(model="any", streaming=True).bind_tools(tools)
graph = StateGraph(MessagesState)
graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
graph.add_node("tools", ToolNode(tools))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
messages = [{"role": "system", "content": task["system_prompt"]}, *task["messages"]]
steps = {"recursion_limit": 2 * task["budgets"]["steps_max"] + 1}
done = graph.compile().invoke({"messages": messages}, steps)
arh_lines.finish(done["messages"][-1].text)
