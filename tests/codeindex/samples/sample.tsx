import React from "react";

interface Props { title: string }
export const Card: React.FC<Props> = ({ title }) => <h1>{title}</h1>;
export function Page() {
  const handle = () => {};
  return <Card title="class Fake" />;
}
